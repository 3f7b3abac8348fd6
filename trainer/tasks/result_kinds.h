#pragma once

#include <memory>
#include <string>
#include <vector>

#include "trainer/data/dataset.h"
#include "trainer/metrics/metrics.h"
#include "trainer/tasks/evaluator.h"
#include "trainer/tasks/predictions.h"

namespace berth {

// Evaluators and prediction lines for each kind of labels: what rows of task_results.cpp are made
// of. All borrow the data set and keep copies of the labels' names. PredictionLines documents the
// formats of the lines.

using Labels = std::vector<std::string>;

// One class for each text. For more classes than kTopClasses, top_5_accuracy is a metric.
inline constexpr int64_t kTopClasses = 5;
std::unique_ptr<Evaluator> make_class_evaluator(const ResultInputs& of);
std::unique_ptr<PredictionLines> make_class_lines(const ResultInputs& of);
std::unique_ptr<PredictionLines> make_class_test_results();

// One number for each text.
std::unique_ptr<Evaluator> make_number_evaluator(const ResultInputs& of);
std::unique_ptr<PredictionLines> make_number_lines(const ResultInputs& of);
std::unique_ptr<PredictionLines> make_number_test_results();

// A vector for each text or each token, which a teacher made. The evaluator compares directions.
std::unique_ptr<Evaluator> make_vector_evaluator(const ResultInputs& of);

// How similar the texts of a row are: logits [1], the cosine of their embeddings.
std::unique_ptr<Evaluator> make_similarity_evaluator(const ResultInputs& of);
// Whether a text finds its partner in the batch: logits [2], of which the second one decides.
std::unique_ptr<Evaluator> make_partner_evaluator(const ResultInputs& of);

// How well passages answer a query: logits [passages of the row]. For the lines they are [2]: the
// score, and the rank among the rows of its query.
std::unique_ptr<Evaluator> make_reranking_evaluator(const ResultInputs& of);
std::unique_ptr<PredictionLines> make_reranking_lines(const ResultInputs& of);

// Which choice is right: logits [choices of the row]. The label of a choice is its number, from 0.
std::unique_ptr<Evaluator> make_choice_evaluator(const ResultInputs& of);
std::unique_ptr<PredictionLines> make_choice_lines(const ResultInputs& of);

// Any number of classes for each text.
std::unique_ptr<Evaluator> make_set_evaluator(const ResultInputs& of);
std::unique_ptr<PredictionLines> make_set_lines(const ResultInputs& of);

// One tag for each word. The evaluator compares entities, as seqeval does. Words beyond
// max_seq_length have no logits and are not counted, as in Hugging Face's run_ner.py.
std::unique_ptr<Evaluator> make_entity_evaluator(const ResultInputs& of);
std::unique_ptr<PredictionLines> make_word_lines(const ResultInputs& of);

// The answer to each question, chosen from the logits of all windows of its context.
std::unique_ptr<Evaluator> make_answer_evaluator(const ResultInputs& of);
std::unique_ptr<PredictionLines> make_answer_lines(const ResultInputs& of);

// The tokens of a row that evaluation masks, or that are masked already, numbered from 0 in the
// row, and their ids.
PackedBatch::MaskedTokens masked_in_evaluation(const Dataset& data, int64_t index,
                                               const Features& features);

// The masked tokens of each sequence, under the masks of evaluation. The data set is masked.
std::unique_ptr<Evaluator> make_masked_evaluator(const ResultInputs& of);
// The same, and whether the second text of each pair follows the first one.
std::unique_ptr<Evaluator> make_next_sentence_evaluator(const ResultInputs& of);
// The same, and whether the two texts of each pair stand in their order.
std::unique_ptr<Evaluator> make_sentence_order_evaluator(const ResultInputs& of);

// Which tokens a generator replaced, under the masks of evaluation. The data set is masked.
std::unique_ptr<Evaluator> make_replaced_evaluator(const ResultInputs& of);

}  // namespace berth
