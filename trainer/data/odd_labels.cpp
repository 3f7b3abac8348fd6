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

// The name without what a reader overlooks: case, kinds of blanks and characters that are not seen.
std::string overlooked(std::string_view name) {
  std::string plain;
  bool has_blank = false;
  to_unicode_form(name, UnicodeForm::kNfkc, [&](ChangedCharacter character) {
    const uint8_t classes = CharacterClasses::shared().of(character.c);
    if (classes & (kWhitespace | kToSpace)) {
      has_blank = true;
      return;
    }
    if (classes & kRemoved) return;
    if (has_blank && !plain.empty()) plain += ' ';
    has_blank = false;
    const Characters lower = lower_case(character.c);
    for (size_t i = 0; i < lower.count; ++i) append_utf8(lower.items[i], plain);
  });
  return plain;
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
            " differ only in case, blanks or characters that are not seen, and each is a label of "
            "its own; write them in one way")));
    break;
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
