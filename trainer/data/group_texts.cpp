#include "trainer/data/group_texts.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>
#include <utility>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "trainer/data/cell_text.h"
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

namespace {

// The number of members of the list in a cell; 0: it holds none.
size_t listed(const Cell& cell) {
  const std::string text = plain_text(cell).value_or("");
  if (!begins_list(text)) return 0;
  return parse_text_list(text).value_or(std::vector<std::string>()).size();
}

bool is_above_zero(const std::string& text) {
  const std::optional<double> number = parse_real(std::string_view(text));
  return number && *number > 0;
}

}  // namespace

void SharedTexts::add(const Example& example) {
  constexpr size_t kMost = 100'000;
  if (rows_ == kMost) return;
  ++rows_;
  const std::hash<std::string> hash;
  repeated_firsts_ += !firsts_.insert(hash(example.texts[0])).second;
  repeated_seconds_ += !seconds_.insert(hash(example.texts[1])).second;
}

std::vector<Finding> SharedTexts::findings() const {
  constexpr size_t kFew = 10;
  std::vector<Finding> found;
  const auto look = [&](size_t repeated, const char* what) {
    if (repeated * 2 <= rows_ || repeated < kFew) return;
    found.push_back(warning(cat(repeated, " of the first ", rows_, what,
                                ", unless --batch-sampler no_duplicates is given")));
  };
  look(repeated_firsts_,
       " rows have the first text of an earlier row, whose second text is wrong for them in one "
       "batch");
  look(repeated_seconds_,
       " rows have the second text of an earlier row, and in one batch it is wrong for this row");
  return found;
}

void require_one_passage(std::span<const Column> columns, const ColumnChoice& choice, Task task) {
  const bool are_groups = traits(task).inputs == InputKind::kTextGroup;
  if (!are_groups || traits(task).labels == LabelKind::kChoice || !choice.text_pair.empty()) return;
  const Task groups = traits(task).unlabelled.value_or(task);
  const FoundColumns found = find_columns(columns, choice, LabelNeed::kIgnored, groups);
  if (found.others.empty()) return;
  throw Error(Code::kBadData,
              cat("the rows have negatives (", quoted(columns[found.others[0]].name),
                  "), and a prediction is of two texts"),
              "",
              "write a row for each passage, or name the second text by --text-pair-column; --mode "
              "eval scores such rows");
}

std::vector<Finding> look_for_scores(const PeekedTable& table, std::span<const size_t> used) {
  std::vector<size_t> unread;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    const bool is_used = std::ranges::find(used, i) != used.end();
    if (!is_used && !names_rows(table.columns[i].name)) unread.push_back(i);
  }
  if (unread.empty()) return {};
  const auto holds_numbers = [&](size_t column) {
    return find_numbers(table.rows, column, table.are_texts).are_most();
  };
  const auto numbers = std::ranges::find_if(unread, holds_numbers);
  const size_t column = numbers == unread.end() ? unread.front() : *numbers;
  return {
      warning(cat("no column has a usual name for scores, so all pairs are learnt as alike, and "
                  "column ",
                  quoted(table.columns[column].name),
                  " is not read; --label-column names the column of scores"))};
}

std::vector<Finding> look_at_labels_of_groups(const PeekedTable& table, const FoundColumns& found,
                                              Task task) {
  const bool are_compared = traits(task).labels == LabelKind::kPlaceInBatch;
  const auto label = find_usual_labels(table.columns, task);
  const bool is_text = label && (*label == found.text || label == found.text_pair);
  if (!are_compared || !label || is_text || !found.text_pair || !found.text_scores.empty()) {
    return {};
  }
  const std::string name = quoted(table.columns[*label].name);
  std::set<std::string> values;
  for (const Row& row : table.rows) {
    const size_t texts = listed(row[*found.text_pair]);
    if (texts > 1 && listed(row[*label]) == texts) {
      throw Error(Code::kBadData,
                  cat("column ", name, " has a list of labels, one for each text of column ",
                      quoted(table.columns[*found.text_pair].name),
                      ", and the loss takes all of these texts as right"),
                  "",
                  "write a row for each text with its label, or the right ones into a column "
                  "\"positive\" and the others into \"negative\"");
    }
    if (!is_missing(row[*label], table.are_texts)) values.insert(*plain_text(row[*label]));
  }
  if (values.size() < 2 || !found.others.empty()) return {};
  if (std::ranges::all_of(values, is_above_zero)) {
    return {warning(cat("column ", name,
                        " is not read, and the loss takes the two texts of each row as texts that "
                        "belong together"))};
  }
  throw Error(Code::kBadData,
              cat("column ", name, " has the values ", quoted(*values.begin()), " and ",
                  quoted(*std::next(values.begin())),
                  ", and the loss takes the two texts of each row as texts that belong together"),
              "",
              "take the column away, and the rows whose texts do not belong together; or give a "
              "loss of labels, such as cosine, cosent or contrastive");
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
