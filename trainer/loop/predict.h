#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "storage/base/bytes.h"
#include "trainer/data/dataset.h"
#include "trainer/engine/engine.h"
#include "trainer/loop/observer.h"
#include "trainer/tasks/predictions.h"

namespace berth {

// Borrows both.
struct PredictionFile {
  PredictionLines& lines;
  ByteSink& sink;
};

// Writes the lines of all examples, in order, into each file. Closes no sink. Returns false when
// `stop` was set meanwhile: then the sinks lack rows. Throws kBadData where the model computes no
// numbers, naming the row.
bool write_predictions(Engine& engine, Dataset& data, int64_t batch_size,
                       std::span<const PredictionFile> files, Observer& observer,
                       const std::atomic<bool>& stop);

}  // namespace berth
