#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/formats/vector_writer.h"
#include "trainer/data/dataset.h"
#include "trainer/distributed/communicator.h"
#include "trainer/engine/engine.h"
#include "trainer/loop/observer.h"
#include "trainer/loop/vector_code.h"
#include "trainer/tasks/evaluator.h"
#include "trainer/tasks/prediction_rules.h"
#include "trainer/tasks/predictions.h"

namespace berth {

struct EvaluationResult {
  int64_t examples = 0;
  double loss = 0;  // mean over the examples, words or tokens, by their weights
  TaskScores scores{};
  double seconds = 0;
  bool has_loss = true;  // false: a retrieval set was evaluated alone, and `loss` is not a number
};

// For observers. Borrows the scores. The caller adds the step, the epoch and the split.
EvaluationReport report_of(const EvaluationResult& evaluation);

// As torch.nn.functional.normalize(), which sentence-transformers' Normalize calls.
void scale_to_one(std::span<float> vector);

// What is needed to interpret logits.
struct ReadingOptions {
  std::vector<std::string> labels{};  // the names of the classes
  PredictionRules rules{};
  // Whether rows are two texts and a number, and the engine learns from texts alone: they are
  // scored by the embeddings of their texts, and their loss is Task::kSimilarity's.
  bool scores_pairs = false;
};

// Called for each example in order, with its index in the data set and its logits: [C], [tokens,C]
// for classes of words and for vectors of tokens, [tokens,2] for answers, or [masked tokens,2] and
// [tokens,4] as Engine::infer() says.
using LogitsCallback = std::function<void(int64_t index, std::span<const float> logits)>;

// Runs the engine's model over all of `data`, `batch_size` examples at a time, without dropout.
// Returns the mean loss, which is 0 for unlabelled data, or nullopt if `stop` was set meanwhile.
// With several ranks, each computes some of the batches. All of them get all logits and return the
// same value, also if `stop` was set on one of them. `ranks` may be null.
std::optional<double> run_forward(Engine& engine, Dataset& data, int64_t batch_size,
                                  const std::atomic<bool>& stop, const LogitsCallback& logits,
                                  Communicator* ranks = nullptr);

// Computes the loss and the metrics over labelled `data`. Returns nullopt if `stop` was set
// meanwhile. `ranks` as above.
std::optional<EvaluationResult> evaluate(Engine& engine, Dataset& data, int64_t batch_size,
                                         const ReadingOptions& reading, Observer& observer,
                                         const std::atomic<bool>& stop,
                                         Communicator* ranks = nullptr);

// The lines to write and the sink to write them to. Borrows both.
struct PredictionFile {
  PredictionLines& lines;
  ByteSink& sink;
};

// Writes the lines of all examples to each file, in order. Closes no sink. Returns false if `stop`
// was set meanwhile; the sinks then lack rows. Throws kBadData, naming the row, if a logit is not
// finite. With several ranks, each computes a part, as run_forward() says. Ranks that write nothing
// have no files. `ranks` may be null. Where passages are ranked, the lines get the score and the
// rank of each row in place of its logit. `form` says what the score is.
bool write_predictions(Engine& engine, Dataset& data, int64_t batch_size,
                       std::span<const PredictionFile> files, Observer& observer,
                       const std::atomic<bool>& stop, Communicator* ranks,
                       ScoreForm form = ScoreForm::kLogit);

// Throws kBadData, naming the row of the example at `index`, if one of its logits is not finite.
void require_finite(const Dataset& data, int64_t index, std::span<const float> logits);

// The steps that turn each pooled state into an embedding, in this order.
struct EmbeddingForm {
  bool normalizes = false;  // scaled to length 1
  size_t width = SIZE_MAX;  // its first numbers only
  bool normalizes_after = false;
  VectorCode code{};  // of the numbers
};

// Writes the embedding of each example, in order, and finishes the writer. The engine's task is
// Task::kTextEmbedding. Returns false if `stop` was set meanwhile; the writer then lacks rows.
// Throws kBadData, naming the row, if a number is not finite. With several ranks, each computes a
// part, as run_forward() says. Ranks that write nothing have no writer. `writer` and `ranks` may be
// null.
bool write_embeddings(Engine& engine, Dataset& data, int64_t batch_size, const EmbeddingForm& form,
                      VectorWriter* writer, Observer& observer, const std::atomic<bool>& stop,
                      Communicator* ranks);

}  // namespace berth
