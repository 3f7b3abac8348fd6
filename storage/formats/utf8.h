#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "storage/base/bytes.h"
#include "storage/formats/text_form.h"

// UTF-8, and its conversion from other encodings. The functions are thread-safe, and a source
// belongs to one thread.
namespace berth {

// U+FEFF, with which some programs begin a text.
inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// UTF-8 as defined by RFC 3629: no surrogates, no overlong forms, nothing above U+10FFFF.
//
// Returns the offset of the first byte that does not begin a valid sequence, or nullopt if all of
// `text` is valid.
std::optional<size_t> find_invalid_utf8(std::string_view text);

// The same without the vector instructions that find_invalid_utf8() uses where the CPU has them.
std::optional<size_t> find_invalid_utf8_portable(std::string_view text);

// Appends `code_point`, which is at most 0x10FFFF. A surrogate is encoded like any other code
// point; find_invalid_utf8() then rejects it.
void append_utf8(uint32_t code_point, std::string& text);

// Converts text to UTF-8. UTF-8 is passed on unchanged, and the reader of the text finds invalid
// bytes. Unless the user names an 8-bit encoding, a text that begins with the byte order mark of
// UTF-16 is converted from that, without the mark. TextEncoding says more. read() throws kBadData,
// naming the byte, where UTF-16 is not valid or a byte is no character of windows-1252.
std::unique_ptr<ByteSource> as_utf8(std::unique_ptr<ByteSource> source,
                                    TextEncoding encoding = TextEncoding::kUtf8);

}  // namespace berth
