#include "trainer/data/odd_labels.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "storage/base/text.h"
#include "storage/formats/utf8.h"
#include "trainer/data/cell_text.h"
#include "trainer/text/unicode.h"
#include "trainer/text/unicode_forms.h"

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

Finding warning(std::string text) { return {"", std::move(text), /*is_warning=*/true}; }

}  // namespace

std::vector<Finding> look_at_names(const std::vector<std::string>& names, LabelKind kind) {
  std::vector<Finding> found;
  const bool are_of_texts = kind == LabelKind::kClass || kind == LabelKind::kSet;
  if (!are_of_texts && kind != LabelKind::kTagPerWord) return found;
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
  const auto mixed = std::ranges::find_if(names, mixes_letters);
  if (mixed != names.end()) {
    found.push_back(warning(cat("the label ", quoted(*mixed),
                                " has Latin letters beside Greek or Cyrillic ones in a word; one "
                                "that looks alike makes another label")));
  }
  const auto json = std::ranges::find_if(names, is_json);
  if (are_of_texts && json != names.end()) {
    found.push_back(warning(cat("the label ", quoted(*json),
                                " is JSON or a dict, and the whole text is the name of a class; "
                                "write its value into a column of its own")));
  }
  if (!are_of_texts || names.size() < 2) return found;
  if (std::ranges::all_of(names, is_quoted)) {
    found.push_back(warning(cat("quotes are a part of each label, as in ", quoted(names.front()),
                                "; a quote encloses a field only if it is \" and stands directly "
                                "behind the delimiter")));
    return found;
  }
  if (std::ranges::all_of(names, is_share)) {
    found.push_back(warning(cat("labels such as ", quoted(names.front()),
                                " are names of classes; --task regression learns numbers, written "
                                "as 0.8")));
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

}  // namespace berth
