#pragma once

#include <cstdint>

namespace berth {

enum class TextEncoding : uint8_t {
  kUtf8,
  kUtf16,  // little-endian without a byte order mark
  kLatin1,
  kWindows1252,
  // UTF-8, unless the first bytes beyond ASCII are not valid: then windows-1252. UTF-16 with a byte
  // order mark.
  kAuto,
};

// What a user says of files of text.
struct TextForm {
  char delimiter = 0;  // of .csv and .tsv; 0: found in the header of .csv, a tab in .tsv
  TextEncoding encoding = TextEncoding::kUtf8;
};

}  // namespace berth
