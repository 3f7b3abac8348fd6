#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

// As the evaluation scripts of SQuAD (Rajpurkar et al. 2016, arXiv:1606.05250) compare answers: in
// lower case, without ASCII punctuation, without the words a, an and the, single spaces.
std::string normalized_answer(std::string_view text);

// The words of the normalized answer.
std::vector<std::string> answer_words(std::string_view text);

// Of one prediction beside one gold answer. exact: equal when normalized. f1: of the words they
// share; where either has no words, whether both have none.
double exact_match(std::string_view prediction, std::string_view gold);
double answer_f1(std::string_view prediction, std::string_view gold);

// Predicted answers beside several gold ones, as the script of SQuAD 2.0 (Rajpurkar et al. 2018,
// arXiv:1806.03822) scores them; that of 1.1 differs only over gold answers without a word.
class AnswerMetrics {
 public:
  // The best score over the gold answers counts. None, or none with a word: the question has no
  // answer, and only the empty prediction (or one without a word) is right.
  void add(std::string_view prediction, std::span<const std::string> gold_answers);

  int64_t questions() const { return questions_; }

  // exact_match and f1: means over all questions, from 0 to 1 (the scripts say percent).
  std::map<std::string, double> metrics() const;

 private:
  int64_t questions_ = 0;
  double exact_sum_ = 0, f1_sum_ = 0;
};

}  // namespace berth
