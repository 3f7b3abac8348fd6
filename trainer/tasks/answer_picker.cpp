#include "trainer/tasks/answer_picker.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "storage/base/text.h"

namespace berth {
namespace {

// The `count` tokens with the highest logits in column `column` of [tokens,2]. If logits are equal,
// the earlier token comes first.
std::vector<size_t> best_tokens(std::span<const float> logits, size_t column, int32_t count) {
  std::vector<size_t> tokens(logits.size() / 2);
  std::iota(tokens.begin(), tokens.end(), size_t{0});
  const size_t kept = std::min(tokens.size(), static_cast<size_t>(count));
  const auto higher = [&](size_t a, size_t b) {
    const float logit_a = logits[2 * a + column], logit_b = logits[2 * b + column];
    return logit_a != logit_b ? logit_a > logit_b : a < b;
  };
  std::partial_sort(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(kept),
                    tokens.end(), higher);
  tokens.resize(kept);
  return tokens;
}

}  // namespace

void AnswerPicker::add(const Features& window, std::span<const float> logits) {
  const double null_score = double{logits[0]} + double{logits[1]};
  null_score_ = has_null_ ? std::min(null_score_, null_score) : null_score;
  has_null_ = true;
  const std::vector<size_t> ends = best_tokens(logits, 1, options_.n_best);
  const auto is_context = [&](size_t token) {
    return window.context[token].begin < window.context[token].end;
  };
  for (const size_t start : best_tokens(logits, 0, options_.n_best)) {
    if (!is_context(start)) continue;
    for (const size_t end : ends) {
      const bool is_span = is_context(end) && end >= start &&
                           end - start < static_cast<size_t>(options_.max_answer_length);
      if (!is_span) continue;
      candidates_.push_back({window.context[start].begin, window.context[end].end,
                             double{logits[2 * start]} + double{logits[2 * end + 1]}});
    }
  }
}

PickedAnswer AnswerPicker::pick(const std::string& context) {
  const auto lower = [](const Candidate& a, const Candidate& b) { return a.score < b.score; };
  const auto best = std::max_element(candidates_.begin(), candidates_.end(), lower);
  PickedAnswer answer;
  const bool is_null =
      best == candidates_.end() ||
      (options_.may_be_none && null_score_ - best->score > options_.null_threshold);
  const double top = std::max(null_score_, best == candidates_.end() ? null_score_ : best->score);
  double sum = options_.may_be_none || best == candidates_.end() ? std::exp(null_score_ - top) : 0;
  for (const Candidate& candidate : candidates_) sum += std::exp(candidate.score - top);
  if (is_null) {
    answer.probability = std::exp(null_score_ - top) / sum;
  } else {
    const size_t from = code_point_offset(context, best->begin),
                 to = code_point_offset(context, best->end);
    answer = {.text = context.substr(from, to - from),
              .begin = best->begin,
              .end = best->end,
              .probability = std::exp(best->score - top) / sum};
  }
  candidates_.clear();
  has_null_ = false;
  return answer;
}

}  // namespace berth
