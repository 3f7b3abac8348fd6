#pragma once

#include <memory>
#include <string>
#include <vector>

#include "storage/storage.h"
#include "trainer/inputs/load_model.h"
#include "trainer/inputs/options.h"
#include "trainer/loop/evaluate_retrieval.h"
#include "trainer/loop/retrieval_set.h"
#include "trainer/model/batch.h"
#include "trainer/model/config.h"

namespace berth {

// The retrieval set that --eval-retrieval names; null if it names none. Training looks at the split
// dev before test, because the checkpoint that test chose would make its figure too good. Throws
// kUsage if the model does not compare texts, and what load_retrieval_set() throws.
std::unique_ptr<RetrievalSet> load_retrieval(Storage& storage, const Settings& settings,
                                             const ModelConfig& config);

// How its texts are read. `limits` is the engine's largest batch. Says in the log which prompts
// stand before the texts, and warns where many passages of `set` are cut. Borrows the model. Throws
// what require_pooled() throws.
RetrievalReading retrieval_reading(const ModelDescription& model, const Settings& settings,
                                   const BatchLimits& limits, const RetrievalSet& set);

// The names of the metrics of an evaluation, the main metric first. `has_rows`: there are labelled
// rows to evaluate on, of this task. `has_set`: there is a retrieval set.
std::vector<std::string> evaluated_metrics(Task task, int64_t num_classes, bool has_rows,
                                           bool has_set);

}  // namespace berth
