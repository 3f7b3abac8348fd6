#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "storage/base/bytes.h"
#include "trainer/data/dataset.h"
#include "trainer/distributed/communicator.h"
#include "trainer/engine/engine.h"
#include "trainer/loop/observer.h"
#include "trainer/tasks/predictions.h"

namespace berth {

// The lines to write and the sink to write them to. Borrows both.
struct PredictionFile {
  PredictionLines& lines;
  ByteSink& sink;
};

// Writes the lines of all examples to each file, in order. Closes no sink. Returns false if `stop`
// was set meanwhile; the sinks then lack rows. Throws kBadData, naming the row, if a logit is not
// finite. With several ranks, each computes a part, as run_forward() says. Ranks that write nothing
// have no files. `ranks` may be null.
bool write_predictions(Engine& engine, Dataset& data, int64_t batch_size,
                       std::span<const PredictionFile> files, Observer& observer,
                       const std::atomic<bool>& stop, Communicator* ranks);

// Throws kBadData, naming the row of the example at `index`, if one of its logits is not finite.
void require_finite(const Dataset& data, int64_t index, std::span<const float> logits);

}  // namespace berth
