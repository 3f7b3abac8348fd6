#pragma once

#include <memory>

#include "storage/base/bytes.h"
#include "storage/formats/text_form.h"

namespace berth {

// Converts text to UTF-8. UTF-8 is passed on unchanged, and the reader of the text finds invalid
// bytes. Unless the user names an 8-bit encoding, a text that begins with the byte order mark of
// UTF-16 is converted from that, without the mark. TextEncoding says more. read() throws kBadData,
// naming the byte, where UTF-16 is not valid or a byte is no character of windows-1252.
std::unique_ptr<ByteSource> as_utf8(std::unique_ptr<ByteSource> source,
                                    TextEncoding encoding = TextEncoding::kUtf8);

}  // namespace berth
