#include "trainer/data/odd_texts.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "storage/base/text.h"
#include "trainer/data/cell_text.h"
#include "trainer/data/misread_text.h"

namespace berth {

bool has_entity(std::string_view text) {
  for (size_t at = text.find('&'); at != text.npos; at = text.find('&', at + 1)) {
    const std::string_view rest = text.substr(at + 1, 6);
    for (const std::string_view name : {"amp;", "lt;", "gt;", "quot;", "nbsp;", "apos;"}) {
      if (rest.starts_with(name)) return true;
    }
    const size_t end = rest.find(';');
    const bool is_number = rest.starts_with('#') && end != rest.npos && end > 1;
    if (is_number && parse_number(rest.substr(1, end - 1))) return true;
  }
  return false;
}

bool has_control(std::string_view text) {
  return std::ranges::any_of(text, [](char c) {
    constexpr std::string_view kUsual = "\t\n\v\f\r";
    return static_cast<unsigned char>(c) < 0x20 && kUsual.find(c) == kUsual.npos;
  });
}

namespace {

// Takes as many digits as `least` to `most` from the beginning. Returns whether it found them.
bool take_digits(std::string_view& text, size_t least, size_t most) {
  const size_t count = std::min(text.find_first_not_of("0123456789"), text.size());
  if (count < least || count > most) return false;
  text.remove_prefix(count);
  return true;
}

}  // namespace

bool is_date(std::string_view text) {
  const bool begins_with_year = text.find_first_not_of("0123456789") == 4;
  if (!take_digits(text, begins_with_year ? 4 : 1, begins_with_year ? 4 : 2) || text.empty()) {
    return false;
  }
  const char mark = text.front();
  if (mark != '-' && mark != '/' && mark != '.') return false;
  text.remove_prefix(1);
  if (!take_digits(text, 1, 2) || !text.starts_with(mark)) return false;
  text.remove_prefix(1);
  if (!take_digits(text, begins_with_year ? 1 : 2, begins_with_year ? 2 : 4)) return false;
  if (text.empty()) return true;
  const bool has_time = text.front() == ' ' || text.front() == 'T';
  return has_time && text.find_first_not_of("0123456789:.,+-Zz TAPMapm") == text.npos &&
         text.find(':') != text.npos;
}

namespace {

// More texts show nothing more.
constexpr size_t kMostTexts = 10'000;

// Whether a tag of HTML begins here: "<br", "</p>".
bool begins_tag(std::string_view rest) {
  rest.remove_prefix(rest.starts_with("</") ? 2 : 1);
  constexpr std::string_view kNames[] = {"br",   "p",    "div", "span", "li", "ul",  "strong",
                                         "body", "html", "td",  "tr",   "h1", "doc", "script"};
  return std::ranges::any_of(kNames, [&](std::string_view name) {
    constexpr std::string_view kEnds = " />\n";
    return rest.size() > name.size() && lower_ascii(rest.substr(0, name.size())) == name &&
           kEnds.find(rest[name.size()]) != kEnds.npos;
  });
}

bool has_tag(std::string_view text) {
  for (size_t at = text.find('<'); at != text.npos; at = text.find('<', at + 1)) {
    if (begins_tag(text.substr(at))) return true;
  }
  return false;
}

// Whether the text has markup of a wiki, a forum or LaTeX: "[[Berlin]]", "{{cite|1}}", "'''so'''",
// "== See also ==", "[quote]", "\\begin{". Also the times of subtitles.
bool has_markup(std::string_view text) {
  for (const auto& [open, close] : {std::pair("[[", "]]"), std::pair("{{", "}}")}) {
    const size_t begin = text.find(open), end = text.find(close, begin);
    constexpr std::string_view kNotNames = " [{\"'0123456789";  // as of lists and dicts
    const bool has_name =
        end != text.npos && end > begin + 2 && kNotNames.find(text[begin + 2]) == kNotNames.npos;
    if (has_name) return true;
  }
  const std::string_view inner = trimmed(text);
  const bool is_heading = inner.starts_with("==") && inner.ends_with("==") && inner.size() > 5;
  if (is_heading && inner.find_first_not_of("= ") != inner.npos) return true;
  constexpr std::string_view kMarks[] = {"'''",      " --> ", "{|",     "[quote",
                                         "[/quote]", "[url=", "[/url]", "\\begin{"};
  return std::ranges::any_of(kMarks,
                             [&](std::string_view mark) { return text.find(mark) != text.npos; });
}

// Whether the text has the end of a line as a backslash and a letter, or as Excel's "_x000D_".
// Behind it no small letter stands, because "\new" may be a name.
bool has_written_line_end(std::string_view text) {
  for (const std::string_view end : {"\\r\\n", "_x000D_", "_x000a_"}) {
    if (text.find(end) != text.npos) return true;
  }
  for (size_t at = text.find("\\n"); at != text.npos; at = text.find("\\n", at + 1)) {
    const char after = at + 2 < text.size() ? text[at + 2] : ' ';
    if (after < 'a' || after > 'z') return true;
  }
  return false;
}

// Whether the text stands between the tokens that a tokenizer adds, or another program has left a
// mark of its own vocabulary in it.
bool has_special_tokens(std::string_view text) {
  const auto begins = [&](std::string_view mark) { return text.starts_with(mark); };
  const auto ends = [&](std::string_view mark) { return text.ends_with(mark); };
  return begins("[CLS]") || begins("<s>") || ends("[SEP]") || ends("</s>") || ends("[PAD]") ||
         ends("<|endoftext|>") || text.find("<unk>") != text.npos;
}

// Whether a program put an apostrophe before the text, so that no spreadsheet computes it.
bool is_guarded(std::string_view text) {
  constexpr std::string_view kComputed = "=+-@";
  return text.size() > 2 && text[0] == '\'' && kComputed.find(text[1]) != kComputed.npos;
}

// Whether it is the name of a file: "texts/12.txt".
bool is_file_name(std::string_view text) {
  constexpr std::string_view kEnds[] = {".txt", ".json", ".html", ".xml", ".pdf",
                                        ".wav", ".mp3",  ".png",  ".jpg", ".csv"};
  return text.find(' ') == text.npos &&
         std::ranges::any_of(kEnds, [&](std::string_view end) { return text.ends_with(end); });
}

// Whether it is base64, or has its blanks as "%20".
bool is_encoded(std::string_view text) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  constexpr size_t kShort = 16;
  if (text.find(' ') != text.npos) return false;
  if (text.find("%20") != text.npos) return true;
  const size_t end = std::min(text.find_first_not_of(kDigits), text.size());
  // Words have few capital letters.
  const auto capitals = std::ranges::count_if(text, [](char c) { return c >= 'A' && c <= 'Z'; });
  return text.size() >= kShort && text.size() % 4 == 0 && capitals > 2 &&
         text.find_first_not_of('=', end) == text.npos && text.size() - end <= 2;
}

// Whether it is a list of numbers, such as the ids of tokens.
bool is_number_list(std::string_view text) {
  const bool are_digits = text.find_first_not_of("0123456789 ") == text.npos;
  if (are_digits && parted(text, " ").size() > 2) return true;
  constexpr std::string_view kOfNumbers = "0123456789,.-+eE[] \n";
  return text.starts_with('[') && text.ends_with(']') &&
         text.find_first_not_of(kOfNumbers) == text.npos &&
         text.find_first_of("0123456789") != text.npos;
}

// Whether the text has an escape of JSON or Python: "\u00e9".
bool has_escape(std::string_view text) {
  for (size_t at = text.find("\\u"); at != text.npos; at = text.find("\\u", at + 1)) {
    const std::string_view digits = text.substr(at + 2, 4);
    if (digits.size() == 4 && digits.find_first_not_of("0123456789abcdefABCDEF") == digits.npos) {
      return true;
    }
  }
  return false;
}

bool is_enclosed(std::string_view text, std::string_view quotes) {
  return text.size() > 1 && text.front() == text.back() && quotes.find(text[0]) != quotes.npos;
}

// Whether the text has bytes as mail or addresses write them: "=C3=A9", "%C3%A9", "=?utf-8?".
bool has_written_bytes(std::string_view text) {
  if (lower_ascii(text.substr(0, 8)).starts_with("=?utf-8?")) return true;
  const auto is_high = [&](size_t at, char mark) {
    constexpr std::string_view kHigh = "89ABCDEF", kDigits = "0123456789ABCDEF";
    return at + 2 < text.size() && text[at] == mark && kHigh.find(text[at + 1]) != kHigh.npos &&
           kDigits.find(text[at + 2]) != kDigits.npos;
  };
  for (size_t at = text.find_first_of("=%"); at != text.npos;
       at = text.find_first_of("=%", at + 1)) {
    if (is_high(at, text[at]) && is_high(at + 3, text[at])) return true;
  }
  return false;
}

// Whether question marks stand in place of most characters.
bool is_of_question_marks(std::string_view text) {
  constexpr ptrdiff_t kFew = 5;
  const auto marks = std::ranges::count(text, '?');
  const auto blanks = std::ranges::count(text, ' ');
  return marks >= kFew && 2 * marks >= static_cast<ptrdiff_t>(text.size()) - blanks;
}

// Whether it has a character that no reader sees and tokenizers read. These are a byte order mark
// inside, a mark that turns the direction of all that follows, and private characters. A blank
// without width counts between letters of ASCII, because languages such as Khmer have it between
// words.
bool has_unseen(std::string_view text) {
  for (const std::string_view mark : {"\xEF\xBB\xBF", "\xE2\x80\xAD", "\xE2\x80\xAE"}) {
    if (text.find(mark) != text.npos) return true;
  }
  for (size_t at = 0; (at = text.find_first_of("\xE2\xEE\xEF", at)) != text.npos; ++at) {
    const std::string_view rest = text.substr(at);
    const auto is_letter = [&](size_t place) {
      const char lower = static_cast<char>(text[place] | 0x20);
      return lower >= 'a' && lower <= 'z';
    };
    constexpr size_t kBytes = 3;
    const bool is_private = rest[0] == '\xEE' || (rest[0] == '\xEF' && rest.size() > 1 &&
                                                  static_cast<unsigned char>(rest[1]) < 0xA4);
    if (is_private) return true;
    if (rest.starts_with("\xE2\x80\x8B") && at > 0 && at + kBytes < text.size() &&
        is_letter(at - 1) && is_letter(at + kBytes)) {
      return true;
    }
  }
  return false;
}

// Whether a blank stands behind each letter, as in text that was taken from a PDF file.
bool is_spaced(std::string_view text) {
  constexpr size_t kFew = 8, kLooked = 200;
  const std::vector<std::string> words = parted(text.substr(0, kLooked), " ");
  const auto letters =
      std::ranges::count_if(words, [](const std::string& word) { return word.size() == 1; });
  return words.size() >= kFew && static_cast<size_t>(letters) * 10 >= words.size() * 9;
}

// Whether it is an address, of the web or of mail.
bool is_address(std::string_view text) {
  if (text.find(' ') != text.npos) return false;
  const size_t at = text.find('@');
  const bool is_mail = at != text.npos && at > 0 && text.find('.', at) != text.npos;
  return is_mail || text.starts_with("http://") || text.starts_with("https://");
}

// Whether it is a checksum or an id in hexadecimal digits.
bool is_hash(std::string_view text) {
  constexpr size_t kShort = 16;
  return text.size() >= kShort && text.find_first_not_of("0123456789abcdefABCDEF-") == text.npos &&
         text.find_first_of("0123456789") != text.npos && !parse_real(text);
}

bool is_in_marks(std::string_view text) {
  constexpr std::pair<std::string_view, std::string_view> kPairsOfMarks[] = {
      {"`", "`"},
      {"\xE2\x80\x9C", "\xE2\x80\x9D"},
      {"\xE2\x80\x9E", "\xE2\x80\x9C"},
      {"\xC2\xAB", "\xC2\xBB"}};
  return std::ranges::any_of(kPairsOfMarks, [&](const auto& marks) {
    return text.size() > marks.first.size() + marks.second.size() &&
           text.starts_with(marks.first) && text.ends_with(marks.second);
  });
}

// Forums write these in place of a text that is gone.
bool is_gone(std::string_view text) { return text == "[deleted]" || text == "[removed]"; }

// A length at which programs and columns of databases cut texts, in characters.
bool is_usual_limit(size_t length) {
  constexpr size_t kLimits[] = {255,  256,   500,   511,   512,   1000,  1023,
                                1024, 2000,  2048,  4000,  4096,  8000,  8191,
                                8192, 10000, 16383, 32767, 32768, 65535, 65536};
  return std::ranges::find(kLimits, length) != std::end(kLimits);
}

}  // namespace

void OddTexts::count(Kind kind, std::string_view text) {
  Found& found = found_[kind];
  if (found.count++ > 0) return;
  found.example = text.substr(0, 200);
  found.place = texts_;
}

// What a wrong encoding has made of the text.
void OddTexts::look_at_encoding(std::string_view text) {
  beyond_ascii_ +=
      std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
  if (is_mojibake(text)) count(kMojibake, text);
  const bool is_iso_2022 = begins_iso_2022(text);
  if (is_iso_2022) count(kIso2022, text);
  if (has_hz(text)) count(kHz, text);
  if (has_utf7(text)) count(kUtf7, text);
  // U+FFFD, and what two of them become where their UTF-8 is read as GBK or as EUC-KR.
  constexpr std::string_view kReplacements[] = {"\xEF\xBF\xBD", "\u951F\u65A4\u62F7",
                                                "\uC3D9\uC619"};
  const bool is_replaced =
      is_of_question_marks(text) || std::ranges::any_of(kReplacements, [&](std::string_view each) {
        return text.find(each) != text.npos;
      });
  if (is_replaced) count(kReplaced, text);
  // A program may have written \" for a quote where the file's texts have no escapes.
  const bool has_quote = are_texts_ && text.find("\\\"") != text.npos;
  if (has_quote || has_escape(text) || has_written_line_end(text) || has_written_bytes(text)) {
    count(kEscapes, text);
  }
  if (!is_iso_2022 && (has_control(text) || has_unseen(text))) count(kControls, text);
}

void OddTexts::add(std::string_view text) {
  if (texts_ == kMostTexts) return;
  ++texts_;
  look_at_encoding(text);
  if (has_entity(text)) count(kEntities, text);
  if (has_tag(text)) count(kTags, text);
  if (has_markup(text)) count(kMarkup, text);
  const size_t length = code_point_count(text);
  if (length > longest_) as_long_ = 0;
  longest_ = std::max(longest_, length);
  as_long_ += length == longest_;
  const std::string_view inner = trimmed(text);
  if (has_special_tokens(inner)) count(kSpecialTokens, inner);
  if (is_guarded(inner)) count(kGuards, inner);
  if (is_spaced(inner)) count(kSpaced, inner);
  const bool is_bytes = inner.starts_with('b') && is_enclosed(inner.substr(1), "'\"");
  if (is_bytes) count(kBytes, inner);
  if (parse_real(inner)) count(kNumbers, inner);
  if (is_date(inner)) count(kDates, inner);
  if (is_file_name(inner) || is_address(inner)) count(kFileNames, inner);
  if (is_encoded(inner)) count(kEncoded, inner);
  if (is_number_list(inner)) count(kIds, inner);
  if (is_hash(inner)) count(kHashes, inner);
  // NumPy shows long arrays as "[1 2 ... 8 9]".
  const bool is_shortened =
      inner.starts_with('[') && inner.ends_with(']') && inner.find(" ... ") != inner.npos;
  const bool is_cut = inner.ends_with("...") || inner.ends_with("\xE2\x80\xA6");
  if (is_cut || is_shortened) count(kEllipses, inner);
  if (means_missing(inner) || is_gone(inner)) count(kMissingWords, inner);
  const std::string_view formula = inner.substr(inner.starts_with('='));
  if (are_texts_ && (is_enclosed(formula, "'\"") || is_in_marks(inner))) count(kQuotes, inner);
}

// All texts of a file are written by one program, but some texts speak of HTML. Where one text
// beyond ASCII is decoded wrongly, all of them are, and they may be few.
bool OddTexts::are_many(Kind kind) const {
  const size_t found = found_[kind].count;
  if (kind == kMojibake && found > 2 && found * 2 > beyond_ascii_) return true;
  if (kind == kEllipses) return texts_ >= 10 && found * 2 > texts_;
  const bool is_of_all = kind >= kBytes && kind < kMissingWords;
  return is_of_all ? texts_ >= 3 && found == texts_ : found * 20 > texts_;
}

std::vector<Finding> OddTexts::findings(const std::string& column) const {
  constexpr std::array<std::string_view, kKinds> kWhat = {
      "have entities of HTML, which are read as they stand; html.unescape of Python decodes them",
      "have tags of HTML, which are read as they stand; BeautifulSoup(text).get_text() of Python "
      "takes them out",
      "have markup, such as [[link]], {{template}}, ''', [quote] or \\begin{, which is read, too; "
      "mwparserfromhell of Python takes a wiki's out",
      "look like text that was read in another encoding than its own and written again; "
      "ftfy.fix_text of Python repairs UTF-8 that was",
      "seem to be in ISO-2022, such as ISO-2022-JP; convert the file: iconv -f ISO-2022-JP -t "
      "UTF-8",
      "seem to be in the encoding HZ; convert the file: iconv -f HZ -t UTF-8",
      "seem to be in UTF-7; convert the file: iconv -f UTF-7 -t UTF-8",
      "have U+FFFD or question marks, which a program writes in place of what it could not decode; "
      "read the file again in its own encoding",
      "have escapes such as \\u00e9, \\n, \\\", =C3=A9 or %C3%A9, which are read as they stand",
      "have control characters such as U+0000, or others that are not seen, such as U+FEFF; BERT's "
      "tokenizer drops some of them, and others read them",
      "have tokens such as [CLS], [SEP], </s> or <unk>; the tokenizer adds such tokens itself, so "
      "take them out",
      "begin with an apostrophe, which keeps spreadsheets from computing a cell, and it is read, "
      "too",
      "have a blank behind each letter, so each letter is a word",
      "are written as bytes of Python, b'...', and the mark is read, too; decode() makes them "
      "texts",
      "are enclosed in quotes that are read, too; a quote encloses a field only if it is \" and "
      "stands directly behind the delimiter",
      "are numbers; --text-column names the column of texts",
      "are dates or times; --text-column names the column of texts",
      "are names of files or addresses, and what they name is not read; write their texts into the "
      "table",
      "are encoded, as by base64 or in an address; decode them first",
      "are lists of numbers, such as the ids of tokens; give the texts themselves",
      "are ids or checksums; --text-column names the column of texts",
      "end in \"...\", or have it inside of a list, as where a program has cut them to show them",
      "are words that programs write for missing values, and are read as texts"};
  std::vector<Finding> findings;
  const std::string of_texts = cat(" of the first ", texts_, " texts of column ", quoted(column));
  for (size_t kind = 0; kind < kKinds; ++kind) {
    const Found& found = found_[kind];
    if (found.count == 0 || !are_many(static_cast<Kind>(kind))) continue;
    const auto sentence = [&](const std::string& example) {
      return cat(found.count, of_texts, ", such as ", example, ", ", kWhat[kind]);
    };
    findings.push_back(
        warning(sentence(quoted(found.example)), sentence(cat("text ", found.place))));
  }
  if (as_long_ > 2 && as_long_ * 50 > texts_ && is_usual_limit(longest_)) {
    findings.push_back(
        warning(cat(as_long_, of_texts, " have ", longest_,
                    " characters, and none has more, as where a program or a database has "
                    "cut them")));
  }
  return findings;
}

}  // namespace berth
