#include "storage/formats/conll_look.h"

#include <algorithm>
#include <array>
#include <string>

#include "storage/base/text.h"

namespace berth {
namespace {

constexpr std::array<std::string_view, 10> kPhrases = {"NP",   "VP",  "PP",   "ADVP",  "SBAR",
                                                       "ADJP", "PRT", "INTJ", "CONJP", "LST"};

bool is_outside_tag(std::string_view tag) { return tag == "O" || tag == "o"; }

bool is_filler_tag(std::string_view tag) { return is_outside_tag(tag) || tag == "_" || tag == "-"; }

bool is_fraction_of(std::string_view text) {
  const size_t point = text.find('.');
  return point != std::string_view::npos && parse_number(text.substr(point + 1)) &&
         (point == 0 || parse_number(text.substr(0, point)));
}

// Looks at one column line by line.
class ColumnLooker {
 public:
  explicit ColumnLooker(size_t column) : column_(column) {}

  void add(const ConllLines& sentence) {
    ++sentences_;
    begins_ = true;
    previous_.reset();
    BracketTags brackets;
    for (const ConllFields& fields : sentence) {
      const std::string_view text = fields[column_];
      ++lines_;
      is_constant_ = is_constant_ && text == sentence[0][column_];
      add_tag(text);
      has_bracket_ = has_bracket_ || text.starts_with('(');
      is_brackets_ = is_brackets_ && brackets.next(text);
      add_number(text);
    }
    is_brackets_ = is_brackets_ && !brackets.is_open();
  }

  ColumnLook take() const {
    const bool runs = runs_ && has_plain_ && lines_ > 0;
    return {
        .counts = runs && steps_ > 0,
        .may_count = runs && steps_ == 0,
        .is_place = lines_ > 1 && pairs_ == lines_,
        .is_number = lines_ > 0 && wholes_ == lines_,
        .is_fraction = fractions_ > 0 && fractions_ + wholes_ == lines_,
        .is_constant = is_constant_ && lines_ >= 2 * sentences_ && (sentences_ > 1 || lines_ > 2),
        .numbers_sentences = wholes_ == lines_ && grows_ && has_step_ && has_repeat_,
        .is_iob = is_iob_ && has_entity_,
        .is_chunk = is_iob_ && has_entity_ && is_chunk_,
        .is_brackets = is_brackets_ && has_bracket_,
        .is_outside = lines_ > 0 && outside_ == lines_,
        .has_outside = outside_ > 0 && outside_ < lines_,
        .is_filler = is_filler_};
  }

 private:
  void add_tag(std::string_view text) {
    const bool is_entity = is_entity_tag(text);
    outside_ += is_outside_tag(text);
    is_filler_ = is_filler_ && is_filler_tag(text);
    is_iob_ = is_iob_ && (is_entity || is_filler_tag(text));
    has_entity_ = has_entity_ || is_entity;
    is_chunk_ =
        is_chunk_ && (!is_entity || std::ranges::find(kPhrases, text.substr(2)) != kPhrases.end());
  }

  void add_number(std::string_view text) {
    bool is_pair = false;
    const auto number = running_number(text, is_pair);
    const bool goes_on = number && last_ && *number == *last_ + 1;
    const bool is_first = number && begins_ && *number <= 1;
    runs_ = runs_ && number && (is_pair || goes_on || is_first);
    steps_ += goes_on && !begins_ && !is_pair;
    pairs_ += number && is_pair;
    const bool is_whole = number && !is_pair;
    has_plain_ = has_plain_ || is_whole;
    wholes_ += is_whole;
    fractions_ += is_fraction_of(text);
    if (is_whole) {
      if (previous_) {
        const bool is_repeat = *number == *previous_, is_step = *number == *previous_ + 1;
        grows_ = grows_ && (is_repeat || is_step);
        has_step_ = has_step_ || is_step;
        has_repeat_ = has_repeat_ || is_repeat;
      }
      previous_ = last_ = number;
    }
    begins_ = begins_ && is_pair;
  }

  const size_t column_;
  size_t sentences_ = 0, lines_ = 0, steps_ = 0, pairs_ = 0, wholes_ = 0, fractions_ = 0,
         outside_ = 0;
  bool runs_ = true, has_plain_ = false, begins_ = true;
  bool grows_ = true, has_step_ = false, has_repeat_ = false;
  bool is_constant_ = true, is_iob_ = true, has_entity_ = false, is_chunk_ = true;
  bool is_filler_ = true, is_brackets_ = true, has_bracket_ = false;
  std::optional<uint64_t> last_, previous_;  // the number before; previous_: in the sentence
};

}  // namespace

bool is_entity_tag(std::string_view tag) {
  return tag.size() > 2 && tag[1] == '-' &&
         std::string_view("BIESLUMbieslum").find(tag[0]) != std::string_view::npos;
}

bool is_iob_tag(std::string_view tag) { return tag == "O" || is_entity_tag(tag); }

std::optional<uint64_t> running_number(std::string_view text, bool& is_pair) {
  const size_t end = std::min(text.find_first_of("-."), text.size());
  is_pair = end < text.size();
  if (is_pair && !parse_number(text.substr(end + 1))) return std::nullopt;
  return parse_number(text.substr(0, end));
}

std::optional<std::string> BracketTags::next(std::string_view cell) {
  const bool begins = cell.starts_with('('), ends = cell.ends_with(')');
  std::string_view inner =
      cell.substr(begins, cell.size() - begins - (ends && cell.size() > begins));
  const bool has_star = inner.ends_with('*');
  if (has_star) inner.remove_suffix(1);
  const bool is_tag = begins ? !inner.empty() && (has_star || ends) && name_.empty()
                             : inner.empty() && has_star && (!ends || !name_.empty());
  if (!is_tag || inner.find_first_of("()*") != std::string_view::npos) return std::nullopt;
  std::string tag = begins ? cat("B-", inner) : name_.empty() ? "O" : cat("I-", name_);
  if (begins) name_ = inner;
  if (ends) name_.clear();
  return tag;
}

ColumnLook look_at_column(const std::vector<ConllLines>& sentences, size_t column) {
  ColumnLooker looker(column);
  for (const ConllLines& sentence : sentences) looker.add(sentence);
  return looker.take();
}

}  // namespace berth
