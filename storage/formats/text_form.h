#pragma once

#include <cstdint>
#include <string>

// How the user says that text is laid out. Plain values.
namespace berth {

// The hint for text that is not UTF-8.
inline constexpr const char* kOfEncodings =
    "--encoding latin-1 or windows-1252 reads text of Western Europe, and auto detects it; iconv "
    "-f NAME -t UTF-8 converts others, such as SHIFT_JIS and GBK";

enum class TextEncoding : uint8_t {
  kUtf8,
  kUtf16,  // little-endian without a byte order mark
  kLatin1,
  kWindows1252,
  // UTF-8, unless the first bytes beyond ASCII are not valid: then windows-1252. UTF-16 with a byte
  // order mark.
  kAuto,
};

// Whether a quote around a field of .csv or .tsv is part of its text.
enum class Quoting : uint8_t {
  kAuto,  // .csv: no. .tsv: the first MiB shows it
  kCsv,   // no: a field may be quoted, and quotes inside it are doubled
  kNone,  // yes: there is no quoting
};

// The user's settings for files of text.
struct TextForm {
  char delimiter = 0;  // of .csv and .tsv; 0: found in the header of .csv, a tab in .tsv
  TextEncoding encoding = TextEncoding::kUtf8;
  Quoting quoting = Quoting::kAuto;
  // For CoNLL: the columns of the words and of the tags. A number counts from 1; others are found.
  std::string words{}, tags{};
  // The columns that the job has used, after it has finished. They hold where a file may have them
  // there.
  std::string usual_words{}, usual_tags{};
  // What these columns are called in the table. Empty: by their numbers, or "tokens" and "tags".
  std::string word_name{}, tag_name{};
};

}  // namespace berth
