#include "trainer/data/group_texts.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "trainer/data/label_reader.h"
#include "trainer/data/text_list.h"

namespace berth {
namespace {

bool names_lists(std::string_view column) {
  constexpr std::string_view kNames = "pos positives neg negs negatives hard_negatives";
  return is_one_of(kNames, lower_ascii(column));
}

}  // namespace

std::optional<std::vector<std::string>> listed_texts(const Column& column, std::string_view cell,
                                                     bool are_texts) {
  const bool may_be_list = are_texts ? names_lists(column.name) : column.is_nested;
  if (!may_be_list || !begins_list(cell)) return std::nullopt;
  auto texts = parse_text_list(cell);
  if (!texts && !are_texts) refuse_nested(column.name, cell, "texts or lists of texts");
  return texts;
}

void GroupTexts::complete(Example& example, std::vector<std::string> positives,
                          std::vector<std::string> negatives, TextScores scores) {
  others_.clear();
  other_scores_.clear();
  if (positives.empty()) {
    throw Error(Code::kBadData, "the row has no text to compare with: its list is empty", "",
                "leave such rows out, or let --skip-bad-rows N do it");
  }
  if (positives.size() > 1 && !may_repeat_) {
    throw Error(Code::kBadData,
                cat("the row has ", positives.size(), " texts to compare with, and one is needed"),
                "", "write a row for each of them");
  }
  if (max_negatives_ > 0 && negatives.size() > max_negatives_) negatives.resize(max_negatives_);
  if (negatives.size() != negatives_.value_or(negatives.size())) {
    throw Error(Code::kBadData,
                cat("the row has ", counted(negatives.size(), "negative"),
                    ", and the first row has ", *negatives_),
                "",
                "give all rows the same number of negatives; --max-negatives N reads the first N "
                "of each row");
  }
  negatives_ = negatives.size();
  example.texts.push_back(std::move(positives.front()));
  std::ranges::move(negatives, std::back_inserter(example.texts));
  if (!scores.positives.empty()) {
    example.text_scores = {scores.positives.front()};
    scores.negatives.resize(negatives.size());
    std::ranges::copy(scores.negatives, std::back_inserter(example.text_scores));
    other_scores_.assign(scores.positives.begin() + 1, scores.positives.end());
  }
  if (positives.size() == 1) return;
  others_.assign(std::move_iterator(positives.begin() + 1), std::move_iterator(positives.end()));
  last_ = example;
}

bool GroupTexts::repeat(Example& example) {
  if (others_.empty()) return false;
  example = last_;
  example.texts[1] = std::move(others_.front());
  others_.pop_front();
  if (!other_scores_.empty()) {
    example.text_scores[0] = other_scores_.front();
    other_scores_.pop_front();
  }
  ++repeats_;
  return true;
}

}  // namespace berth
