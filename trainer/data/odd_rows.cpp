#include "trainer/data/odd_rows.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include "storage/base/text.h"
#include "storage/formats/utf8.h"
#include "trainer/data/cell_text.h"
#include "trainer/text/normalization_steps.h"
#include "trainer/text/unicode.h"

namespace berth {
namespace {

// The name with characters in place of the usual entities of HTML.
std::string without_entities(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> kEntities[] = {
      {"&quot;", "\""}, {"&#39;", "'"},  {"&apos;", "'"}, {"&lt;", "<"},
      {"&gt;", ">"},    {"&nbsp;", " "}, {"&amp;", "&"}};
  std::string plain(name);
  for (const auto& [entity, character] : kEntities) {
    for (size_t at = 0; (at = plain.find(entity, at)) != plain.npos; ++at) {
      plain.replace(at, entity.size(), character);
    }
  }
  return plain;
}

// Variation selectors, of which one makes a sign an emoji.
bool is_selector(char32_t c) { return (c >= 0xFE00 && c <= 0xFE0F); }

// The name without what a reader overlooks: case, kinds of blanks, characters that are not seen,
// hyphens and low lines between words, and a dot at the end.
std::string overlooked(std::string_view text) {
  std::string name = without_entities(trimmed(text));
  for (size_t i = 1; i + 1 < name.size(); ++i) {
    if (name[i] == '_' || name[i] == '-') name[i] = ' ';
  }
  if (name.size() > 2 && name.ends_with('.') && name[name.size() - 2] != '.') name.pop_back();
  std::string plain;
  bool has_blank = false;
  to_unicode_form(name, UnicodeForm::kNfkc, [&](ChangedCharacter character) {
    const uint8_t classes = CharacterClasses::shared().of(character.c);
    if (classes & (kWhitespace | kToSpace)) {
      has_blank = true;
      return;
    }
    if ((classes & kRemoved) || is_selector(character.c)) return;
    if (has_blank && !plain.empty()) plain += ' ';
    has_blank = false;
    const Characters lower = lower_case(character.c);
    for (size_t i = 0; i < lower.count; ++i) append_utf8(lower.items[i], plain);
  });
  return plain;
}

// Whether a word has Latin letters beside Cyrillic ones, or Greek ones that look like Latin.
bool mixes_letters(std::string_view name) {
  bool has_latin = false, has_other = false, mixes = false;
  to_unicode_form(name, UnicodeForm::kNfc, [&](ChangedCharacter character) {
    const char32_t c = character.c;
    const bool is_latin = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    constexpr std::u32string_view kAlike = U"ΑΒΕΖΗΙΚΜΝΟΡΤΥΧο";
    const bool is_other = (c >= 0x400 && c <= 0x52F) || kAlike.find(c) != kAlike.npos;
    if (!is_latin && !is_other) has_latin = has_other = false;
    has_latin = has_latin || is_latin;
    has_other = has_other || is_other;
    mixes = mixes || (has_latin && has_other);
  });
  return mixes;
}

bool is_json(std::string_view name) {
  return (name.starts_with("[{") && name.ends_with("}]")) ||
         (name.starts_with('{') && name.ends_with('}') && name.find(':') != name.npos);
}

constexpr std::string_view kMonths[] = {"jan", "feb", "mar", "apr", "may", "jun",
                                        "jul", "aug", "sep", "oct", "nov", "dec"};

// Whether it is a day as Excel shows it, which it makes of "3-5" and "MAR5": "5-Mar", "Mar-05".
bool is_excel_day(std::string_view name) {
  const size_t dash = name.find('-');
  if (dash == name.npos) return false;
  const auto is_month = [](std::string_view part) {
    return std::ranges::find(kMonths, lower_ascii(part)) != std::end(kMonths);
  };
  const auto is_number = [](std::string_view part) {
    return !part.empty() && part.size() <= 2 && part.find_first_not_of("0123456789") == part.npos;
  };
  const std::string_view before = name.substr(0, dash), after = name.substr(dash + 1);
  return (is_number(before) && is_month(after)) || (is_month(before) && is_number(after));
}

bool has_control(std::string_view text);

// Whether it is a value as Python shows it: "tensor(1)", "np.int64(1)", "array(['a'])".
bool is_of_python(std::string_view name) {
  const size_t open = name.find('(');
  if (open == name.npos || !name.ends_with(')')) return false;
  const std::string_view function = name.substr(0, open);
  return function == "tensor" || function == "array" || function == "Timestamp" ||
         function == "Decimal" || function.starts_with("np.") || function.starts_with("numpy.");
}

// Whether it is a number of stars or points in words: "4 stars", "4.0 out of 5 stars", "★★★★".
bool is_rating(std::string_view name) {
  constexpr std::string_view kStar = "\xE2\x98\x85", kEmptyStar = "\xE2\x98\x86";
  std::string_view rest = name;
  while (rest.starts_with(kStar) || rest.starts_with(kEmptyStar)) rest.remove_prefix(3);
  if (rest.empty() && !name.empty()) return true;
  const size_t blank = rest.find(' ');
  if (blank == rest.npos || !parse_real(rest.substr(0, blank))) return false;
  const std::string_view words = rest.substr(blank + 1);
  return words == "star" || words == "stars" || words.starts_with("out of ");
}

bool means_none(std::string_view name) {
  const std::string plain = lower_ascii(name);
  return plain == "none" || plain == "nothing" || plain == "no label" || plain == "n/a";
}

bool is_of_marks(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    const char lower = static_cast<char>(c | 0x20);
    return c > ' ' && c < 0x7F && !(lower >= 'a' && lower <= 'z') && !(c >= '0' && c <= '9');
  });
}

bool is_quoted(std::string_view name) {
  constexpr std::string_view kQuotes = "'\"";
  return name.size() > 1 && name.front() == name.back() && kQuotes.find(name[0]) != kQuotes.npos;
}

bool is_number(std::string_view name) { return parse_real(name).has_value(); }

// "4/5".
bool is_share(std::string_view name) {
  const size_t bar = name.find('/');
  return bar != name.npos && parse_number(name.substr(0, bar)) &&
         parse_number(name.substr(bar + 1));
}

// Takes as many digits as `least` to `most` from the beginning. Returns whether it found them.
bool take_digits(std::string_view& text, size_t least, size_t most) {
  const size_t count = std::min(text.find_first_not_of("0123456789"), text.size());
  if (count < least || count > most) return false;
  text.remove_prefix(count);
  return true;
}

// Whether it is a day, or a time of a day: "2024-01-31", "31.1.2024 12:30", "1/31/24",
// "2024-01-31T12:30:00Z".
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

Finding warning(std::string text) { return {"", std::move(text), /*is_warning=*/true}; }

}  // namespace

namespace {

// Labels that are probably one.
void look_for_equal_names(const std::vector<std::string>& names, std::vector<Finding>& found) {
  std::map<std::string, const std::string*> seen;
  for (const std::string& name : names) {
    const auto [first, is_new] = seen.emplace(overlooked(name), &name);
    if (is_new) continue;
    found.push_back(warning(
        cat("labels ", quoted(*first->second), " and ", quoted(name),
            " differ only in case, blanks, marks between words or invisible characters, and each "
            "is a label of its own; write them in one way")));
    break;
  }
  std::map<double, const std::string*> numbers;
  for (const std::string& name : names) {
    const std::optional<double> number = parse_real(name);
    // Doubles do not tell larger numbers apart.
    if (!number || std::abs(*number) >= 0x1p53) continue;
    if (numbers.emplace(*number, &name).second) continue;
    found.push_back(warning(cat("labels ", quoted(*numbers[*number]), " and ", quoted(name),
                                " are one number, and each is a label of its own; write them in "
                                "one way")));
    break;
  }
}

// What a program has left in a name.
void look_into_names(const std::vector<std::string>& names, LabelKind kind,
                     std::vector<Finding>& found) {
  const auto say = [&](const auto& is_odd, const auto& what) {
    const auto name = std::ranges::find_if(names, is_odd);
    if (name != names.end()) found.push_back(warning(cat("the label ", quoted(*name), what)));
  };
  say(mixes_letters,
      " has Latin letters beside Greek or Cyrillic ones in a word; one that looks alike makes "
      "another label");
  say(has_control, " has a control character, which is a part of its name");
  if (kind == LabelKind::kTagPerWord) return;
  say(is_json,
      " is JSON or a dict, and the whole text is the name of a class; write its value into a "
      "column of its own");
  say(is_excel_day,
      " looks like a date into which a spreadsheet has turned a name or a range such as 3-5; "
      "export such a column as text");
  if (kind != LabelKind::kSet) return;
  say([](std::string_view name) { return name.empty(); },
      " is empty; take it out of the lists of labels");
  say(means_none,
      " is a label as others are; a text without labels has an empty list, or an empty cell");
}

// What all names are, in place of names.
void look_at_all_names(const std::vector<std::string>& names, std::vector<Finding>& found) {
  const auto say = [&](const auto& is_odd, const auto& what) {
    if (!std::ranges::all_of(names, is_odd)) return;
    found.push_back(warning(cat("labels such as ", quoted(names.front()), what)));
  };
  say(is_of_python,
      " are values as Python shows them, and the whole text is the name of a class; write them by "
      ".item() or str()");
  say(is_rating, " are names of classes; --task regression learns numbers, written as 4");
  say(is_share, " are names of classes; --task regression learns numbers, written as 0.8");
  if (std::ranges::all_of(names, is_date)) {
    found.push_back(warning(cat("each label is a date, such as ", quoted(names.front()),
                                ", and becomes a class of its own; --label-column names the column "
                                "of labels")));
  }
}

}  // namespace

std::vector<Finding> look_at_names(const std::vector<std::string>& names, LabelKind kind) {
  std::vector<Finding> found;
  const bool are_of_texts = kind == LabelKind::kClass || kind == LabelKind::kSet;
  if (!are_of_texts && kind != LabelKind::kTagPerWord) return found;
  look_for_equal_names(names, found);
  look_into_names(names, kind, found);
  if (!are_of_texts || names.size() < 2) return found;
  if (std::ranges::all_of(names, is_quoted)) {
    found.push_back(warning(cat("quotes are a part of each label, as in ", quoted(names.front()),
                                "; a quote encloses a field only if it is \" and stands directly "
                                "behind the delimiter")));
    return found;
  }
  look_at_all_names(names, found);
  // Many classes may be codes, some of which have letters.
  constexpr size_t kFew = 20;
  const auto number = std::ranges::find_if(names, is_number),
             word = std::ranges::find_if_not(names, is_number);
  if (names.size() <= kFew && number != names.end() && word != names.end() && !is_of_marks(*word)) {
    found.push_back(warning(cat("some labels are numbers, such as ", quoted(*number),
                                ", and others are names, such as ", quoted(*word),
                                "; where they mean the same, write them in one way")));
  }
  const auto marks = std::ranges::find_if(names, is_of_marks);
  if (marks != names.end() && !std::ranges::all_of(names, is_of_marks)) {
    found.push_back(warning(cat("the label ", quoted(*marks),
                                " has no letter or digit and is a label nevertheless; if it stands "
                                "for a missing value, leave its rows out")));
  }
  return found;
}

namespace {

// More texts show nothing more.
constexpr size_t kMostTexts = 10'000;

// Whether the text has one of HTML's entities: "&amp;", "&#39;".
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

// UTF-8 that was read as windows-1252 or Latin-1 and written again: A with a tilde before a
// character from U+0080 to U+00BF, or the beginning of a typographic quote.
bool has_mojibake(std::string_view text) {
  if (text.find("\xC3\xA2\xE2\x82\xAC") != text.npos) return true;
  for (size_t at = text.find('\xC3'); at != text.npos; at = text.find('\xC3', at + 1)) {
    const std::string_view rest = text.substr(at);
    const bool begins = rest.starts_with("\xC3\x83") || rest.starts_with("\xC3\x82");
    if (begins && rest.size() > 3 && rest[2] == '\xC2') return true;
  }
  return false;
}

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

bool has_control(std::string_view text) {
  return std::ranges::any_of(text, [](char c) {
    constexpr std::string_view kUsual = "\t\n\v\f\r";
    return static_cast<unsigned char>(c) < 0x20 && kUsual.find(c) == kUsual.npos;
  });
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

}  // namespace

void OddTexts::count(Kind kind, std::string_view text) {
  if (found_[kind].count++ == 0) found_[kind].example = text.substr(0, 200);
}

void OddTexts::add(std::string_view text) {
  if (texts_ == kMostTexts) return;
  ++texts_;
  if (has_entity(text)) count(kEntities, text);
  if (has_mojibake(text)) count(kMojibake, text);
  if (text.find("\xEF\xBF\xBD") != text.npos) count(kReplaced, text);
  if (has_escape(text) || has_written_line_end(text)) count(kEscapes, text);
  if (has_tag(text)) count(kTags, text);
  if (has_control(text)) count(kControls, text);
  const std::string_view inner = trimmed(text);
  if (has_special_tokens(inner)) count(kSpecialTokens, inner);
  if (is_guarded(inner)) count(kGuards, inner);
  const bool is_bytes = inner.starts_with('b') && is_enclosed(inner.substr(1), "'\"");
  if (is_bytes) count(kBytes, inner);
  if (parse_real(inner)) count(kNumbers, inner);
  if (is_date(inner)) count(kDates, inner);
  if (is_file_name(inner)) count(kFileNames, inner);
  if (is_encoded(inner)) count(kEncoded, inner);
  if (is_number_list(inner)) count(kIds, inner);
  if (!are_texts_) return;
  const std::string_view formula = inner.substr(inner.starts_with('='));
  if (is_enclosed(formula, "'\"")) count(kQuotes, inner);
  if (means_missing(inner)) count(kMissingWords, inner);
}

std::vector<Finding> OddTexts::findings(const std::string& column) const {
  constexpr std::array<std::string_view, kKinds> kWhat = {
      "have entities of HTML, which are read as they stand; html.unescape of Python decodes them",
      "have tags of HTML, which are read as they stand; BeautifulSoup(text).get_text() of Python "
      "takes them out",
      "look like UTF-8 that was read in another encoding and written again; ftfy.fix_text of "
      "Python repairs them",
      "have U+FFFD, which a program writes in place of what it could not decode; read the file "
      "again in its own encoding",
      "have escapes such as \\u00e9 or \\n, which are read as they stand",
      "have control characters, such as U+0000, which BERT's tokenizer drops and others read",
      "have tokens such as [CLS], [SEP], </s> or <unk>; the tokenizer adds such tokens itself, so "
      "take them out",
      "begin with an apostrophe, which keeps spreadsheets from computing a cell, and it is read, "
      "too",
      "are written as bytes of Python, b'...', and the mark is read, too; decode() makes them "
      "texts",
      "are enclosed in quotes that are read, too; a quote encloses a field only if it is \" and "
      "stands directly behind the delimiter",
      "are numbers; --text-column names the column of texts",
      "are dates or times; --text-column names the column of texts",
      "are names of files, and the files themselves are not read; write their texts into the table",
      "are encoded, as by base64 or in an address; decode them first",
      "are lists of numbers, such as the ids of tokens; give the texts themselves",
      "are words that programs write for missing values, and are read as texts"};
  std::vector<Finding> findings;
  for (size_t kind = 0; kind < kKinds; ++kind) {
    const Found& found = found_[kind];
    // All texts of a file are written by one program, but some texts speak of HTML.
    const bool is_of_all = kind >= kBytes && kind < kMissingWords;
    const bool are_many = is_of_all ? found.count == texts_ : found.count * 20 > texts_;
    if (found.count == 0 || !are_many || (is_of_all && texts_ < 3)) continue;
    findings.push_back({"",
                        cat(found.count, " of the first ", texts_, " texts of column ",
                            quoted(column), ", such as ", quoted(found.example), ", ", kWhat[kind]),
                        /*is_warning=*/true});
  }
  return findings;
}

namespace {

bool names_total(std::string_view text) {
  constexpr std::string_view kNames[] = {"total",
                                         "totals",
                                         "grand total",
                                         "grand totals",
                                         "subtotal",
                                         "sub total",
                                         "sum",
                                         "average",
                                         "mean",
                                         "summe",
                                         "gesamt",
                                         "gesamtsumme",
                                         "gesamtergebnis",
                                         "zwischensumme",
                                         "mittelwert",
                                         "durchschnitt",
                                         "somme",
                                         "moyenne",
                                         "total general",
                                         "total général",
                                         "totaal",
                                         "totale",
                                         "suma",
                                         "soma",
                                         "итого",
                                         "Итого",
                                         "всего",
                                         "Всего",
                                         "合計",
                                         "合计",
                                         "总计",
                                         "總計",
                                         "합계"};
  std::string plain = lower_ascii(trimmed(text));
  while (plain.ends_with(':') || plain.ends_with('=')) plain.pop_back();
  return std::ranges::find(kNames, trimmed(plain)) != std::end(kNames);
}

}  // namespace

void TotalRow::add(std::string_view text, std::string_view label, std::optional<double> number) {
  if (rows_++ > 0) {
    are_numbers_ = are_numbers_ && number_;
    sum_ += number_.value_or(0);
    largest_ = std::max(largest_, std::abs(number_.value_or(0)));
  }
  text_ = text;
  label_ = label;
  number_ = number;
}

std::vector<Finding> TotalRow::findings(std::string_view position) const {
  constexpr size_t kFewRows = 5;
  if (rows_ <= kFewRows) return {};
  // Twice the largest label, so that few small labels do not add up to the last one by chance.
  const bool is_sum = are_numbers_ && number_ && std::abs(*number_) >= 2 * largest_ &&
                      largest_ > 0 && std::abs(*number_ - sum_) <= 1e-6 * std::abs(sum_);
  if (!is_sum && !names_total(text_) && !names_total(label_)) return {};
  return {{"",
           cat("the last row, on ", position, ", seems to sum up the rows above it (",
               quoted(text_), label_.empty() ? "" : cat(", label ", quoted(label_)),
               "), and is read as a row; remove it if it does"),
           /*is_warning=*/true}};
}

namespace {

constexpr size_t kFewScores = 10, kMostSources = 20;

int quarter_octave(double size) { return static_cast<int>(std::floor(4 * std::log2(size))); }

}  // namespace

void ScoreScale::add(double score) {
  ++count_;
  const double size = std::abs(score);
  largest_ = std::max(largest_, size);
  if (size > 0) ++counts_[quarter_octave(size)];
}

void ScoreScale::add(const ScoreScale& other) {
  for (const auto& [place, count] : other.counts_) counts_[place] += count;
  count_ += other.count_;
  largest_ = std::max(largest_, other.largest_);
}

bool ScoreScale::is_below(const ScoreScale& other) const {
  if (count_ < kFewScores || other.count_ < kFewScores || largest_ == 0) return false;
  if (largest_ * 3 > other.largest_) return false;
  size_t above = 0;
  for (auto at = other.counts_.upper_bound(quarter_octave(largest_)); at != other.counts_.end();
       ++at) {
    above += at->second;
  }
  return above * 3 >= other.count_;
}

void SourceScales::add(const std::optional<std::string>& source, double score) {
  if (!source) return;
  const auto found = scales_.find(*source);
  if (found != scales_.end()) return found->second.add(score);
  if (scales_.size() < kMostSources) scales_[*source].add(score);
}

std::vector<Finding> SourceScales::findings(const std::string& column) const {
  for (const auto& [name, scale] : scales_) {
    for (const auto& [other, other_scale] : scales_) {
      if (!scale.is_below(other_scale)) continue;
      return {warning(cat("the scores of ", quoted(name), " in column ", quoted(column),
                          " go up to ", scale.largest(), ", and the scores of ", quoted(other),
                          " up to ", other_scale.largest(),
                          ", so they seem to be of different scales; write all of them in one "
                          "scale"))};
    }
  }
  return {};
}

}  // namespace berth
