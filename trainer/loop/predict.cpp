#include "trainer/loop/predict.h"

#include "trainer/loop/evaluate.h"

namespace berth {

bool write_predictions(Model& model, Kernels& kernels, Dataset& data, int64_t batch_size,
                       std::span<const PredictionFile> files, Observer& observer,
                       const std::atomic<bool>& stop) {
  for (const PredictionFile& file : files) file.sink.write(as_bytes(file.lines.header()));
  const auto write = [&](int64_t index, std::span<const float> logits) {
    for (const PredictionFile& file : files) {
      file.sink.write(as_bytes(file.lines.add(index, logits)));
    }
    observer.on_evaluating(index + 1, data.size());
  };
  return run_forward(model, kernels, data, batch_size, stop, write).has_value();
}

}  // namespace berth
