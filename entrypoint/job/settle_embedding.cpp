#include "entrypoint/job/settle_embedding.h"

namespace berth {

bool compares_texts(const ModelConfig& config) {
  return traits(config.task).rows == HeadRows::kGroups;
}

void settle_embedding(const SentenceFiles& files, const EmbeddingOptions& asked,
                      ModelConfig& config) {
  config.pooling = asked.pooling.value_or(files.pooling.value_or(Pooling::kMean));
  config.normalizes_embeddings = asked.normalizes.value_or(files.normalizes);
}

void settle_groups(const LoadedTable& loaded, ModelConfig& config) {
  if (traits(loaded.task).rows != HeadRows::kGroups) return;
  config.task = loaded.task;
  config.texts_per_row = loaded.columns.negative.empty() ? 2 : 3;
}

}  // namespace berth
