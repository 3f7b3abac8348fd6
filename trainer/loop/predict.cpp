#include "trainer/loop/predict.h"

#include <algorithm>
#include <cmath>

#include "storage/base/counted.h"
#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "trainer/loop/evaluate.h"

namespace berth {

void require_finite(const Dataset& data, int64_t index, std::span<const float> logits) {
  if (std::ranges::all_of(logits, [](float logit) { return std::isfinite(logit); })) return;
  throw Error(Code::kBadData, "the model computes a number that is not finite",
              cat("row ", data.source_row(index)),
              "its parameters may be damaged, or come from a job that diverged");
}

bool write_predictions(Engine& engine, Dataset& data, int64_t batch_size,
                       std::span<const PredictionFile> files, Observer& observer,
                       const std::atomic<bool>& stop, Communicator* ranks) {
  for (const PredictionFile& file : files) file.sink.write(as_bytes(file.lines.header()));
  const auto write = [&](int64_t index, std::span<const float> logits) {
    require_finite(data, index, logits);
    for (const PredictionFile& file : files) {
      file.sink.write(as_bytes(file.lines.add(index, logits)));
    }
    observer.on_evaluating(index + 1, data.size());
  };
  const bool finished = run_forward(engine, data, batch_size, stop, write, ranks).has_value();
  for (const PredictionFile& file : files) {
    if (const int64_t unseen = file.lines.unseen_words(); finished && unseen > 0) {
      log_warning(cat(unseen,
                      " words were not seen by the model and have probability 0: they are beyond ",
                      "--max-seq-length or have no token"));
    }
    if (const int64_t empty = file.lines.empty_rows(); finished && empty > 0) {
      log_warning(cat(counted(empty, "row"), empty == 1 ? " has" : " have",
                      " no text, so the prediction is empty there"));
    }
  }
  return finished;
}

}  // namespace berth
