#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trainer/distributed/communicator.h"
#include "trainer/engine/engine.h"
#include "trainer/inputs/sentence_files.h"
#include "trainer/loop/evaluate.h"
#include "trainer/loop/observer.h"
#include "trainer/loop/retrieval_set.h"
#include "trainer/loop/saved_tensors.h"
#include "trainer/model/batch.h"
#include "trainer/text/tokenizer.h"

namespace berth {

// A sentence for the log.
std::string describe(const SearchPrompts& prompts);

// How texts of a retrieval set become vectors.
struct RetrievalReading {
  const Tokenizer& tokenizer;
  int32_t max_seq_length = 0;  // in tokens; longer texts are cut
  SearchPrompts prompts{};
  BatchLimits limits{};  // the largest batch of the engine
  int threads = 1;       // of the search
  // The first numbers of the embeddings that are compared, scaled to length 1; 0: all of them.
  int64_t compared_size = 0;
  // Where the vectors are kept for a search that begins again; null: nowhere. Not with several
  // ranks.
  SavedVectors* saved = nullptr;
  // Further searches compare these first numbers, each smaller than the embeddings. Their nDCG is
  // ndcg_at_10_dim_SIZE.
  std::vector<int64_t> nested_sizes{};
};

// Searches the corpus for each query by the cosine of the model's embeddings, and compares what is
// found with the judgements. The corpus is embedded in blocks, and their vectors are not kept. The
// engine's task makes embeddings. `examples` of the result counts the queries, and there is no
// loss. Returns nullopt if `stop` was set meanwhile. With several ranks, each computes some of the
// blocks, and all return the same. `ranks` may be null. Throws kBadData, naming the text, if a
// number of an embedding is not finite.
std::optional<EvaluationResult> evaluate_retrieval(Engine& engine, const RetrievalSet& set,
                                                   const RetrievalReading& reading,
                                                   Observer& observer,
                                                   const std::atomic<bool>& stop,
                                                   Communicator* ranks = nullptr);

// What a search found for each query.
struct FoundPassages {
  std::vector<std::vector<FoundDocument>> rankings{};  // the best first
  std::vector<std::vector<float>> judged{};  // the scores of the passages that judgements name
};

// The same search without an evaluation: at most `depth` passages for each query.
std::optional<FoundPassages> search_passages(Engine& engine, const RetrievalSet& set,
                                             const RetrievalReading& reading, size_t depth,
                                             Observer& observer, const std::atomic<bool>& stop,
                                             Communicator* ranks = nullptr);

// A retrieval set with how it is read. The job borrows both parts.
struct RetrievalEvaluation {
  const RetrievalSet& set;
  const RetrievalReading reading;
};

// The result of an evaluation on labelled rows, and the metrics of a retrieval set beside it. Where
// both have a metric of the same name, the set's one stays.
EvaluationResult with_retrieval(EvaluationResult rows, EvaluationResult retrieval);

}  // namespace berth
