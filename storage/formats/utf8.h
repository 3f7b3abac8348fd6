#pragma once

#include <memory>
#include <string_view>

#include "storage/base/bytes.h"
#include "storage/formats/text_form.h"

// The conversion of texts from other encodings to UTF-8. A source belongs to one thread.
namespace berth {

// U+FEFF, with which some programs begin a text.
inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// The characters of windows-1252 for the bytes 0x80 to 0x9F; 0: there is none.
inline constexpr char16_t kWindows1252[32] = {
    0x20AC, 0,      0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160,
    0x2039, 0x0152, 0,      0x017D, 0,      0,      0x2018, 0x2019, 0x201C, 0x201D, 0x2022,
    0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0,      0x017E, 0x0178};

// Converts text to UTF-8. UTF-8 is passed on unchanged, and the reader of the text finds invalid
// bytes. Unless the user names an 8-bit encoding, a text that begins with the byte order mark of
// UTF-16 is converted from that, without the mark. TextEncoding says more. read() throws kBadData,
// naming the byte, where UTF-16 is not valid or a byte is no character of windows-1252.
std::unique_ptr<ByteSource> as_utf8(std::unique_ptr<ByteSource> source,
                                    TextEncoding encoding = TextEncoding::kUtf8);

}  // namespace berth
