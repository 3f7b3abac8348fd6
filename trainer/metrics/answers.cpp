#include "trainer/metrics/answers.h"

#include <algorithm>

#include "trainer/metrics/python_text.h"

namespace berth {
namespace {

bool is_ascii_punctuation(char32_t c) {
  return c > ' ' && c < 0x7F && !is_alphanumeric(c);  // string.punctuation
}

bool is_article(std::u32string_view word) {
  return word == U"a" || word == U"an" || word == U"the";
}

std::u32string without_punctuation(std::u32string_view text) {
  std::u32string kept;
  for (const char32_t c : text) {
    if (!is_ascii_punctuation(c)) kept += c;
  }
  return kept;
}

// An article is a whole run of letters and digits. Other characters may stand next to it.
std::u32string without_articles(std::u32string_view text) {
  std::u32string kept;
  for (size_t begin = 0, end = 0; begin < text.size(); begin = end) {
    const bool in_word = is_alphanumeric(text[begin]);
    while (end < text.size() && is_alphanumeric(text[end]) == in_word) ++end;
    const std::u32string_view run = text.substr(begin, end - begin);
    if (is_article(run)) {
      kept += U' ';
    } else {
      kept += run;
    }
  }
  return kept;
}

double f1_of_words(std::vector<std::string> said, std::vector<std::string> gold) {
  if (said.empty() || gold.empty()) return said.empty() && gold.empty() ? 1 : 0;
  std::sort(said.begin(), said.end());
  std::sort(gold.begin(), gold.end());
  std::vector<std::string> shared;
  std::set_intersection(said.begin(), said.end(), gold.begin(), gold.end(),
                        std::back_inserter(shared));
  return 2 * static_cast<double>(shared.size()) / static_cast<double>(said.size() + gold.size());
}

}  // namespace

std::vector<std::string> answer_words(std::string_view text) {
  const std::u32string kept = without_articles(without_punctuation(lowered(code_points(text))));
  std::vector<std::string> words;
  for (size_t begin = 0, end = 0; begin < kept.size(); begin = end) {
    const bool between = is_space(kept[begin]);
    while (end < kept.size() && is_space(kept[end]) == between) ++end;
    if (!between) words.push_back(utf8(std::u32string_view(kept).substr(begin, end - begin)));
  }
  return words;
}

std::string normalized_answer(std::string_view text) {
  std::string joined;
  for (const std::string& word : answer_words(text)) joined += (joined.empty() ? "" : " ") + word;
  return joined;
}

double exact_match(std::string_view prediction, std::string_view gold) {
  return answer_words(prediction) == answer_words(gold) ? 1 : 0;
}

double answer_f1(std::string_view prediction, std::string_view gold) {
  return f1_of_words(answer_words(prediction), answer_words(gold));
}

void AnswerMetrics::add(std::string_view prediction, std::span<const std::string> gold_answers) {
  bool is_answerable = false;
  double exact = 0, f1 = 0;
  for (const std::string& gold : gold_answers) {
    if (answer_words(gold).empty()) continue;
    is_answerable = true;
    exact = std::max(exact, exact_match(prediction, gold));
    f1 = std::max(f1, answer_f1(prediction, gold));
  }
  ++questions_;
  exact_sum_ += is_answerable ? exact : exact_match(prediction, "");
  f1_sum_ += is_answerable ? f1 : answer_f1(prediction, "");
}

std::map<std::string, double> AnswerMetrics::metrics() const {
  const double questions = questions_ == 0 ? 1 : static_cast<double>(questions_);
  return {{"exact_match", exact_sum_ / questions}, {"f1", f1_sum_ / questions}};
}

}  // namespace berth
