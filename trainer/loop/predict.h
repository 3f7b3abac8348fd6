#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "storage/base/bytes.h"
#include "trainer/data/dataset.h"
#include "trainer/kernels/kernels.h"
#include "trainer/loop/observer.h"
#include "trainer/model/model.h"

namespace berth {

// predictions.tsv: a header, then for each example its row number (from 0), the predicted label,
// and one column a label with its probability, 9 digits. Order is kept. Does not close the sink.
// Returns false when `stop` was set meanwhile: then the sink lacks rows.
bool write_predictions(Model& model, Kernels& kernels, Dataset& data, int64_t batch_size,
                       const std::vector<std::string>& labels, Observer& observer,
                       const std::atomic<bool>& stop, ByteSink& sink);

}  // namespace berth
