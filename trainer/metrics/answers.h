#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

// An answer as the evaluation scripts of SQuAD (Rajpurkar et al. 2016, arXiv:1606.05250) compare
// it: in lower case, without ASCII punctuation, without the words a, an and the, with single
// spaces.
std::string normalized_answer(std::string_view text);

// The words of the normalized answer.
std::vector<std::string> answer_words(std::string_view text);

// Scores of one predicted answer against one gold answer, from 0 to 1. exact_match is 1 where both
// are equal after normalization. answer_f1 is the F1 of the words that they share; where either has
// no words, it is 1 if neither has.
double exact_match(std::string_view prediction, std::string_view gold);
double answer_f1(std::string_view prediction, std::string_view gold);

// Scores predicted answers against several gold answers each, as the script of SQuAD 2.0 (Rajpurkar
// et al. 2018, arXiv:1806.03822) does. The script of SQuAD 1.1 differs only where a gold answer has
// no words. Not thread-safe.
class AnswerMetrics {
 public:
  // Adds one question. Its score is the best over the gold answers. Where no gold answer has a
  // word, the question has no answer, and only a prediction without a word is right.
  void add(std::string_view prediction, std::span<const std::string> gold_answers);

  int64_t questions() const { return questions_; }

  // exact_match and f1: means over all questions, from 0 to 1. The scripts print percent.
  std::map<std::string, double> metrics() const;

 private:
  int64_t questions_ = 0;
  double exact_sum_ = 0, f1_sum_ = 0;
};

}  // namespace berth
