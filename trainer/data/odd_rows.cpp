#include "trainer/data/odd_rows.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "storage/base/text.h"
#include "storage/base/utf8.h"
#include "trainer/data/cell_text.h"
#include "trainer/data/misread_text.h"
#include "trainer/data/odd_texts.h"
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

// Characters that look like one of ASCII, as programs for texts write them.
std::string with_plain_marks(std::string text) {
  constexpr std::pair<std::string_view, std::string_view> kPlainMarks[] = {
      {"\u2010", "-"},  {"\u2011", "-"},  {"\u2012", "-"}, {"\u2013", "-"}, {"\u2014", "-"},
      {"\u2212", "-"},  {"\u2018", "'"},  {"\u2019", "'"}, {"\u02BC", "'"}, {"\u201C", "\""},
      {"\u201D", "\""}, {"\u00DF", "ss"}, {"\u1E9E", "ss"}};
  for (const auto& [mark, plain] : kPlainMarks) {
    for (size_t at = 0; (at = text.find(mark, at)) != text.npos; at += plain.size()) {
      text.replace(at, mark.size(), plain);
    }
  }
  return text;
}

// The name without what a reader overlooks: case, kinds of blanks, quotes and dashes, and
// characters that are not seen. Hyphens and low lines between words are blanks. A dot at the end is
// left out.
std::string overlooked(std::string_view text) {
  std::string name = with_plain_marks(without_entities(trimmed(text)));
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
    constexpr char32_t kDot = 0x307;  // which a Turkish capital I leaves
    for (size_t i = 0; i < lower.count; ++i) {
      if (lower.items[i] != kDot) append_utf8(lower.items[i], plain);
    }
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

constexpr std::string_view kMonths = "jan feb mar apr may jun jul aug sep oct nov dec";

// Whether it is a day as Excel shows it, which it makes of "3-5" and "MAR5": "5-Mar", "Mar-05".
bool is_excel_day(std::string_view name) {
  const size_t dash = name.find('-');
  if (dash == name.npos) return false;
  const auto is_month = [](std::string_view part) { return is_one_of(kMonths, lower_ascii(part)); };
  const auto is_number = [](std::string_view part) { return part.size() <= 2 && is_digits(part); };
  const std::string_view before = name.substr(0, dash), after = name.substr(dash + 1);
  return (is_number(before) && is_month(after)) || (is_month(before) && is_number(after));
}

// Whether it is a value as Python shows it: "tensor(1)", "np.int64(1)", "array(['a'])", "b'a'",
// "<Label.POS: 1>".
bool is_of_python(std::string_view name) {
  const bool is_member = name.starts_with('<') && name.ends_with('>') &&
                         name.find('.') != name.npos && name.find(": ") != name.npos;
  const bool is_bytes = name.size() > 2 && name[0] == 'b' && name[1] == name.back() &&
                        (name[1] == '\'' || name[1] == '"');
  if (is_member || is_bytes) return true;
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
  return words == "star" || words == "stars" || words.starts_with("out of ") ||
         words.starts_with("of ");
}

bool means_none(std::string_view name) {
  const std::string plain = lower_ascii(name);
  return plain == "none" || plain == "nothing" || plain == "no label" || plain == "n/a";
}

// Whether it is a word by which programs say that there is no value.
bool says_missing(std::string_view name) {
  constexpr std::string_view kWords[] = {"missing", "nil",      "undefined",    "null",
                                         "(null)",  "<null>",   "(blank)",      "(empty)",
                                         "(none)",  "#missing", "not available"};
  return std::ranges::find(kWords, lower_ascii(name)) != std::end(kWords) ||
         (means_missing(name) && name != "NA" && name != "None");  // in a file with types
}

bool is_truth(std::string_view name) {
  const std::string plain = lower_ascii(name);
  return plain == "true" || plain == "false";
}

bool is_formula(std::string_view name) {
  return name.starts_with('=') && name.find('(') != name.npos && name.ends_with(')');
}

// Whether it is rather a text: ten words or more.
bool is_sentence(std::string_view name) {
  constexpr size_t kManyWords = 10;
  return parted(name, " ").size() >= kManyWords;
}

// Whether it is a number in digits that parse_real() does not know: Arabic ones, or wide ones.
bool is_of_other_digits(std::string_view name) {
  size_t others = 0;
  bool are_digits = !name.empty();
  to_unicode_form(name, UnicodeForm::kNfc, [&](ChangedCharacter character) {
    const char32_t c = character.c;
    const bool is_other = (c >= 0x660 && c <= 0x66C) || (c >= 0x6F0 && c <= 0x6F9) ||
                          (c >= 0x966 && c <= 0x96F) || (c >= 0xFF0C && c <= 0xFF19);
    others += is_other;
    are_digits = are_digits && (is_other || (c >= '+' && c <= '9'));
  });
  return are_digits && others > 0;
}

// What stands behind the number with which a name begins: "kg" of "3.5 kg".
std::string_view unit_of(std::string_view name) {
  const size_t end = std::min(name.find_first_not_of("0123456789.,+- "), name.size());
  return parse_real(trimmed(name.substr(0, end))) ? name.substr(end) : std::string_view();
}

// "~4.5", "4.5±0.1": a number that is not exact.
bool is_approximate(std::string_view name) {
  for (const std::string_view mark : {"~", "≈"}) {
    if (name.starts_with(mark)) return parse_real(trimmed(name.substr(mark.size()))).has_value();
  }
  const size_t at = name.find("±");
  return at != name.npos && parse_real(trimmed(name.substr(0, at)));
}

bool has_line_end(std::string_view name) { return name.find_first_of("\n\r\t") != name.npos; }

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

bool is_latin(char c) {
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'z';
}

bool is_number(std::string_view name) { return parse_real(name).has_value(); }

// "4/5".
bool is_share(std::string_view name) {
  const size_t bar = name.find('/');
  return bar != name.npos && parse_real(name.substr(0, bar)) && parse_number(name.substr(bar + 1));
}

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

// A word and its abbreviation.
void look_for_abbreviations(const std::vector<std::string>& names, std::vector<Finding>& found) {
  constexpr std::pair<std::string_view, std::string_view> kPairs[] = {
      {"y", "yes"},        {"n", "no"},         {"t", "true"},      {"f", "false"},
      {"pos", "positive"}, {"neg", "negative"}, {"neu", "neutral"}, {"unk", "unknown"}};
  const auto is_there = [&](std::string_view word) {
    return std::ranges::any_of(names,
                               [&](const std::string& name) { return lower_ascii(name) == word; });
  };
  for (const auto& [part, word] : kPairs) {
    if (!is_there(part) || !is_there(word)) continue;
    found.push_back(warning(cat("labels ", quoted(part), " and ", quoted(word),
                                " may mean the same, and each is a label of its own; write them in "
                                "one way")));
    return;
  }
}

// A number that programs write for a missing one, beside the numbers of classes from 0 or 1 on.
// LabelForm knows -1.
void look_for_mark(const std::vector<std::string>& names, std::vector<Finding>& found) {
  constexpr double kMissingNumbers[] = {-9, -99, -100, -999, -9999, 99, 999, 9999, 99999};
  std::set<double> numbers;
  const std::string* mark = nullptr;
  for (const std::string& name : names) {
    const std::optional<double> number = parse_real(name);
    if (!number) return;
    if (std::ranges::find(kMissingNumbers, *number) == std::end(kMissingNumbers)) {
      numbers.insert(*number);
    } else if (std::exchange(mark, &name) != nullptr) {
      return;
    }
  }
  if (mark == nullptr || numbers.size() < 2 || *numbers.begin() < 0 || *numbers.begin() > 1) return;
  const double range = *numbers.rbegin() - *numbers.begin();
  const bool are_in_order = range + 1 == static_cast<double>(numbers.size());
  // 99 beside 0 to 98 is one of many.
  constexpr size_t kFew = 20;
  if (!are_in_order || numbers.size() > kFew) return;
  found.push_back(
      warning(cat("the label ", quoted(*mark), " is a class beside ", *numbers.begin(), " to ",
                  *numbers.rbegin(), "; if it marks a missing label, leave its rows out")));
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
  say(has_line_end, " has a line break or a tab, which is a part of its name");
  say(has_entity,
      " has an entity of HTML, which is a part of its name; html.unescape of Python decodes it");
  say(is_mojibake,
      " looks like UTF-8 that was read in another encoding and written again; ftfy.fix_text of "
      "Python repairs it");
  if (kind == LabelKind::kTagPerWord) return;
  say(says_missing,
      " is a label as others are; if it stands for a missing value, leave its rows out");
  say(is_formula,
      " is a formula of a spreadsheet, and the whole text is the name of a class; export its "
      "value");
  say(is_json,
      " is JSON or a dict, and the whole text is the name of a class; write its value into a "
      "column of its own");
  say(is_excel_day,
      " looks like a date into which a spreadsheet has turned a name or a range such as 3-5; "
      "export such a column as text");
  if (kind != LabelKind::kSet) {
    // In the first rows, it would have made sets of all labels.
    say([](std::string_view name) { return name.find('|') != name.npos && name.size() > 1; },
        " is one class, although '|' separates labels; --task multi_label reads several");
    return;
  }
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
  say(is_sentence,
      " are whole sentences; --label-column and --text-column name the labels and the texts");
  say([](std::string_view name) { return name.starts_with("__label__") && name.size() > 9; },
      " have the mark of fastText in their names; remove __label__ where names are shown");
  say(is_rating, " are names of classes; --task regression learns numbers, written as 4");
  say(is_approximate, " are names of classes; --task regression learns numbers, written as 4.5");
  say(is_share, " are names of classes; --task regression learns numbers, written as 0.8");
  say(is_of_other_digits,
      " are names of classes, because their digits are not 0 to 9; write numbers with these");
  const std::string unit(unit_of(names.front()));
  const auto is_measure = [](std::string_view name) {  // unlike "1990s" and "2A"
    return name.find_first_of(". ") != name.npos;
  };
  const bool are_measures = std::ranges::any_of(unit, is_latin) && !is_rating(names.front()) &&
                            std::ranges::any_of(names, is_measure);
  if (are_measures && names.size() > 2) {
    say([&](std::string_view name) { return unit_of(name) == unit; },
        " are names of classes; --task regression learns numbers, written without the unit");
  }
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
  const auto joined = std::ranges::find_if(
      names, [](const std::string& name) { return name.find('|') != name.npos; });
  if (kind == LabelKind::kSet && joined != names.end()) {
    found.push_back(warning(cat("the label ", quoted(*joined),
                                " has a '|', which separates labels in predictions; read its "
                                "own column of probabilities there")));
  }
  look_at_all_names(names, found);
  look_for_abbreviations(names, found);
  if (kind == LabelKind::kClass) look_for_mark(names, found);
  // Checkers of facts use both true and false beside other verdicts.
  const auto truth = std::ranges::find_if(names, is_truth),
             other = std::ranges::find_if_not(
                 names, [](const std::string&name) { return is_truth(name) || is_number(name); });
  if (std::ranges::count_if(names, is_truth) == 1 && other != names.end()) {
    found.push_back(
        warning(cat("the label ", quoted(*truth), " stands beside names such as ", quoted(*other),
                    "; a program may have read a name, such as NO, as "
                    "true or false")));
  }
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

bool names_total(std::string_view text) {
  constexpr std::string_view kWords =
      "total totals subtotal sum average mean summe gesamt gesamtsumme gesamtergebnis "
      "zwischensumme "
      "mittelwert durchschnitt somme moyenne totaal totale suma soma итого Итого всего Всего 合計 "
      "合计 总计 總計 합계";
  constexpr std::string_view kPhrases[] = {"grand total", "grand totals", "sub total",
                                           "total general", "total général"};
  std::string plain = lower_ascii(trimmed(text));
  while (plain.ends_with(':') || plain.ends_with('=')) plain.pop_back();
  const std::string_view name = trimmed(plain);
  return is_one_of(kWords, name) || std::ranges::find(kPhrases, name) != std::end(kPhrases);
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
  const auto sentence = [&](const std::string& example) {
    return cat("the last row, on ", position, ", seems to sum up the rows above it", example,
               ", and is read as a row; remove it if it does");
  };
  const std::string label = label_.empty() ? "" : cat(", label ", quoted(label_));
  return {warning(sentence(cat(" (", quoted(text_), label, ")")), sentence(""))};
}

namespace {

constexpr size_t kFewScores = 10, kMostSources = 20;

int quarter_octave(double size) { return static_cast<int>(std::floor(4 * std::log2(size))); }

}  // namespace

ScoreScale::ScoreScale(const ScoreRange& range) {
  for (size_t i = 0; i < kFewScores; ++i) {
    add(i == 0 ? range.largest : range.upper_third);
    add(0);
    add(0);
  }
}

std::optional<ScoreRange> ScoreScale::range() const {
  if (count_ < kFewScores) return std::nullopt;
  ScoreRange range{.largest = largest_};
  size_t above = 0;
  for (auto at = counts_.rbegin(); at != counts_.rend() && above * 3 < count_; ++at) {
    above += at->second;
    // The middle of the quarter, so that rounding does not move it to another one.
    if (above * 3 >= count_) range.upper_third = std::exp2((at->first + 0.5) / 4);
  }
  return range;
}

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

// WikiANN's files have the language before each word, as in "en:Berlin".
void OddWords::add(std::string_view word) {
  empty_ += trimmed(word).empty();
  constexpr std::string_view kAdded = "[CLS] [SEP] [PAD] <s> </s> <pad>";
  added_ += is_one_of(kAdded, word);
  pieces_ += word.size() > 2 &&
             (word.starts_with("##") || word.starts_with("\u2581") || word.starts_with("\u0120"));
  const std::string_view prefix = word.substr(0, word.find(':') + 1);
  if (words_++ == 0) prefix_ = prefix;
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz-";
  if (prefix.size() < 3 || prefix.size() == word.size() || prefix != prefix_ ||
      prefix.find_first_not_of(kLetters) != prefix.size() - 1) {
    prefix_.clear();
  }
}

std::vector<Finding> OddWords::findings() const {
  constexpr size_t kFewWords = 10, kFewOdd = 3;
  std::vector<Finding> found;
  const auto warn = [&](std::string text) { found.push_back(warning(std::move(text))); };
  const std::string of = cat(" of ", counted(words_, "word"), " are ");
  if (!prefix_.empty() && words_ >= kFewWords) {
    warn(cat("every word begins with ", quoted(prefix_),
             ", as in WikiANN's files, and is read with it; remove it, as the data set of the "
             "Hugging Face Hub has done"));
  }
  if (pieces_ * 20 > words_) {
    warn(cat(pieces_, of,
             "parts that a tokenizer has made, such as ##ing, and are cut again; give the words "
             "as they were before"));
  }
  if (added_ >= kFewOdd && added_ * 50 > words_) {
    warn(cat(added_, of,
             "tokens such as [CLS] or [PAD], which the tokenizer adds itself; take them and their "
             "tags out"));
  }
  if (empty_ >= kFewOdd && empty_ * 50 > words_) {
    warn(cat(empty_, of,
             "empty, as where sentences were filled up to one length; their tags are not learnt"));
  }
  return found;
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
