#pragma once

#include <string_view>

// Texts that a program has decoded wrongly, or not at all, and that are valid UTF-8 nevertheless.
// Thread-safe.
namespace berth {

// Whether the text is UTF-8 that was read as windows-1252 or Latin-1 and written again: its
// characters, as bytes of windows-1252, are UTF-8 beyond ASCII. Also where one such character
// stands in another text: A with a tilde or a circumflex before a character up to U+00BF, or the
// beginning of a typographic quote. Also text that was read in Latin-1, code page 437 or Mac OS
// Roman instead of its own encoding, where its letters show it. The same holds for Cyrillic in
// another of its encodings, for windows-1250 as windows-1252, and for UTF-8 as windows-1251, -1253,
// -1256, GBK or Shift_JIS.
bool is_mojibake(std::string_view text);

// Whether the text has an escape, or a shift, by which ISO-2022-JP, -KR or -CN begins characters of
// two bytes.
bool begins_iso_2022(std::string_view text);

// Whether the text has characters of GB 2312 as HZ writes them, between "~{" and "~}" (RFC 1843).
bool has_hz(std::string_view text);

// Whether the text has characters beyond ASCII as UTF-7 writes them, behind "+" (RFC 2152).
bool has_utf7(std::string_view text);

}  // namespace berth
