#include "trainer/data/odd_labels.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>

#include "storage/base/text.h"

namespace berth {
namespace {

// More rows show nothing more.
constexpr size_t kRowsLookedAt = 100'000;
constexpr size_t kFewLabelled = 20, kFewLabels = 20;
constexpr size_t kExampleBytes = 200;

// Whether the beginning of the text has `name` as a word of its own, in any case.
bool names_label(std::string_view text, std::string_view name) {
  constexpr size_t kLooked = 2000, kShortName = 3;
  const bool has_letter =
      std::ranges::any_of(name, [](char c) { return is_word_byte(c) && !(c >= '0' && c <= '9'); });
  if (name.size() < kShortName || !has_letter) return false;
  const std::string plain = lower_ascii(text.substr(0, kLooked)), word = lower_ascii(name);
  for (size_t at = plain.find(word); at != plain.npos; at = plain.find(word, at + 1)) {
    const size_t end = at + word.size();
    const bool begins = at == 0 || !is_word_byte(plain[at - 1]);
    if (begins && (end == plain.size() || !is_word_byte(plain[end]))) return true;
  }
  return false;
}

bool is_phrase(std::string_view text) { return trimmed(text).find(' ') != text.npos; }

}  // namespace

void MissingScores::add(double score) {
  const double size = std::abs(score);
  second_ = std::max(second_, std::min(size, largest_));
  largest_ = std::max(largest_, size);
  constexpr double kMissingMarks[] = {-1, -9, -99, -999, -9999, -99999, 99, 999, 9999, 99999};
  if (std::ranges::find(kMissingMarks, score) != std::end(kMissingMarks)) {
    ++found_[score];
    return;
  }
  least_ = scores_ == 0 ? score : std::min(least_, score);
  most_ = scores_ == 0 ? score : std::max(most_, score);
  ++scores_;
}

std::vector<Finding> MissingScores::findings() const {
  if (scores_ == 0 && found_.size() == 1 && found_.begin()->second >= kFewLabelled) {
    return {warning(cat("every label is ", found_.begin()->first,
                        ", which may mark a missing score; --label-column names another column"))};
  }
  if (scores_ < kFewLabelled) return {};
  if (least_ == most_ && found_.empty()) {
    return {warning(cat("every label is ", least_,
                        ", which teaches nothing; --label-column names another column"))};
  }
  const double range = std::max(most_ - least_, 1e-9);
  for (const auto& [mark, count] : found_) {
    // -1 beside scores from 0 on is near to them, but has another sign.
    const bool is_far = most_ > least_ && (mark < least_ - 5 * range || mark > most_ + 5 * range);
    const bool is_minus_one = mark == -1 && least_ >= 0 && most_ > 1 && count * 100 > scores_;
    if (!is_far && !is_minus_one) continue;
    return {warning(cat(counted(count, "label"), count == 1 ? " is " : " are ", mark,
                        ", and all others are from ", least_, " to ", most_,
                        "; if it marks a missing score, leave such rows out"))};
  }
  if (found_.empty() && most_ > least_ && most_ - least_ < 1e-5 * largest_) {
    return {warning(cat("the scores are from ", least_, " to ", most_,
                        " and so large that fp32 hardly tells them apart, as ids or times; "
                        "--label-column names another column, or subtract their mean"))};
  }
  if (second_ > 0 && largest_ > 100 * second_) {
    return {
        warning(cat("one score has the size ", largest_, ", and all others are at most ", second_,
                    ", so that row alone makes the loss; correct it, or leave "
                    "the row out"))};
  }
  return {};
}

void ClassesOfTexts::look_for_copies(std::span<const std::string> texts, std::string_view label) {
  uint64_t key = 0;
  for (const std::string& text : texts) {
    key = key * 0x9E3779B97F4A7C15u + std::hash<std::string_view>()(trimmed(text));
  }
  const uint64_t name = std::hash<std::string_view>()(label);
  if (trimmed(texts[0]).empty()) return;
  const auto [known, is_new] = labels_.emplace(key, name);
  copies_ += !is_new && known->second == name;
  if (is_new || known->second == name) return;
  if (contradicting_++ > 0) return;
  contradiction_ = texts[0].substr(0, kExampleBytes);
  contradicting_row_ = rows_;
}

void ClassesOfTexts::add(std::span<const std::string> texts, std::string_view label) {
  if (rows_ == kRowsLookedAt || texts.empty()) return;
  label = trimmed(label);
  if (rows_++ == 0) {
    first_ = {.text = texts[0].substr(0, kExampleBytes), .label = std::string(label)};
  } else {
    has_two_labels_ = has_two_labels_ || label != first_.label;
    first_.is_alone = first_.is_alone && label != first_.label;
    phrases_ += is_phrase(texts[0]);
  }
  look_for_copies(texts, label);
  if (const auto known = counts_.find(label); known != counts_.end()) {
    ++known->second;
  } else if (counts_.size() <= kFewLabels) {
    counts_.emplace(label, 1);
  }
  last_text_ = texts[0].substr(0, kExampleBytes);
  last_label_ = label;
  if (!std::ranges::any_of(texts,
                           [&](const std::string& text) { return names_label(text, label); })) {
    return;
  }
  if (naming_++ > 0) return;
  named_ = texts[0].substr(0, kExampleBytes);
  naming_row_ = rows_;
}

void ClassesOfTexts::look_for_misspelt(std::vector<Finding>& found) const {
  constexpr size_t kShort = 5, kFewRows = 2, kManyRows = 20;
  const auto has_digit = [](const std::string& name) {
    return name.find_first_of("0123456789") != name.npos;
  };
  if (counts_.size() > kFewLabels) return;
  for (const auto& [rare, rows] : counts_) {
    if (rows > kFewRows || rare.size() < kShort || has_digit(rare)) continue;
    for (const auto& [usual, more] : counts_) {
      if (more < kManyRows || edit_distance(rare, usual) != 1) continue;
      found.push_back(warning(cat("the label ", quoted(rare), " has ", counted(rows, "row"),
                                  ", and ", quoted(usual), ", which differs in one letter, has ",
                                  more, "; correct it if it is misspelt")));
      return;
    }
  }
}

std::vector<Finding> ClassesOfTexts::findings() const {
  std::vector<Finding> found;
  if (rows_ < kFewLabelled) return found;
  look_for_misspelt(found);
  if (copies_ * 2 >= rows_) {
    found.push_back(warning(cat(copies_, " of the first ", rows_,
                                " rows are copies of an earlier row, and count again; "
                                "drop_duplicates() of pandas takes them out")));
  }
  if (contradicting_ * 20 > rows_) {
    const auto sentence = [&](const std::string& example) {
      return cat(contradicting_, " of the first ", rows_,
                 " rows have the text of an earlier row and another label, such as ", example,
                 "; where a text has several labels, write them in one row for --task multi_label");
    };
    found.push_back(
        warning(sentence(quoted(contradiction_)), sentence(cat("row ", contradicting_row_))));
  }
  if (has_two_labels_ && naming_ * 20 >= rows_ * 19) {
    const auto sentence = [&](const std::string& example) {
      return cat(naming_, " of the first ", rows_, " texts name their own label, such as ", example,
                 ", so a model learns to copy it; take it out where other texts lack it");
    };
    found.push_back(warning(sentence(quoted(named_)), sentence(cat("row ", naming_row_))));
  }
  const bool are_phrases = phrases_ * 10 >= (rows_ - 1) * 9;
  if (are_texts_ && first_.is_alone && are_phrases && !is_phrase(first_.text)) {
    const auto sentence = [&](const std::string& example) {
      return cat("the first row", example, example.empty() ? " is" : ", is",
                 " unlike all others, as a second line of names is; ", "remove it if it is one");
    };
    found.push_back(
        warning(sentence(cat(", ", quoted(first_.text), " with the label ", quoted(first_.label))),
                sentence("")));
  }
  // With few classes, each has several rows.
  const auto last = counts_.find(last_label_);
  const auto is_alone = [](const auto& label) { return label.second < 3; };
  if (are_texts_ && counts_.size() > 2 && counts_.size() <= kFewLabels && last != counts_.end() &&
      last->second == 1 && std::ranges::count_if(counts_, is_alone) == 1) {
    const auto sentence = [&](const std::string& example) {
      return cat("the last row", example, example.empty() ? " has" : ", has",
                 " a label that no other row has, as a note below a ",
                 "table; remove it if it is one");
    };
    found.push_back(
        warning(sentence(cat(", ", quoted(last_text_), " with the label ", quoted(last_label_))),
                sentence("")));
  }
  return found;
}

}  // namespace berth
