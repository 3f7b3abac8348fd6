#include "trainer/loop/embed.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "trainer/loop/evaluate.h"
#include "trainer/loop/predict.h"

namespace berth {
namespace {

// As torch.nn.functional.normalize(), which sentence-transformers' Normalize calls.
void scale_to_one(std::vector<float>& vector) {
  constexpr double kLeast = 1e-12;
  double squares = 0;
  for (const float value : vector) squares += double{value} * double{value};
  const double scale = 1 / std::max(kLeast, std::sqrt(squares));
  for (float& value : vector) value = static_cast<float>(scale * double{value});
}

}  // namespace

bool write_embeddings(Engine& engine, Dataset& data, int64_t batch_size, const EmbeddingForm& form,
                      VectorWriter* writer, Observer& observer, const std::atomic<bool>& stop,
                      Communicator* ranks) {
  std::vector<float> embedding;
  const auto write = [&](int64_t index, std::span<const float> logits) {
    require_finite(data, index, logits);
    if (writer != nullptr) {
      embedding.assign(logits.begin(), logits.end());
      if (form.normalizes) scale_to_one(embedding);
      embedding.resize(std::min(embedding.size(), form.width));
      if (form.normalizes_after) scale_to_one(embedding);
      const std::string id = data.id(index);
      writer->add({.number = data.source_row(index), .id = id, .vector = embedding});
    }
    observer.on_evaluating(index + 1, data.size());
  };
  if (!run_forward(engine, data, batch_size, stop, write, ranks)) return false;
  if (writer != nullptr) writer->finish();
  return true;
}

}  // namespace berth
