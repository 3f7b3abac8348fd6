#include "entrypoint/job/settle_embedding.h"

#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/text.h"

namespace berth {

bool compares_texts(const ModelConfig& config) {
  return traits(config.task).rows == HeadRows::kGroups;
}

void settle_embedding(const SentenceFiles& files, const EmbeddingOptions& asked,
                      ModelConfig& config) {
  config.pooling = asked.pooling.value_or(files.pooling.value_or(Pooling::kMean));
  config.normalizes_embeddings = asked.normalizes.value_or(files.normalizes);
}

void settle_comparison(ModelFolder& folder, const SentenceFiles& files, const Settings& settings,
                       ModelDescription& model) {
  if (!files.similarity.empty() && files.similarity != "cosine") {
    throw Error(Code::kUsage,
                cat("similarity_fn_name is ", quoted(files.similarity),
                    "; berth compares texts by the cosine"),
                folder.name() + "/config_sentence_transformers.json",
                "--mode embed writes the vectors, which any function can compare");
  }
  if (files.truncate_dim && *files.truncate_dim < model.config.hidden_size) {
    log_warning(cat("texts are compared by all ", model.config.hidden_size,
                    " numbers of their vectors; encode() compares the first ", *files.truncate_dim,
                    " (truncate_dim)"));
  }
  settle_embedding(files, settings.embedding, model.config);
  use_sentence_files(folder, settings.model, files, model);
}

void settle_groups(const LoadedTable& loaded, ModelConfig& config) {
  if (traits(loaded.task).rows != HeadRows::kGroups) return;
  config.task = loaded.task;
  config.texts_per_row = loaded.columns.negative.empty() ? 2 : 3;
}

}  // namespace berth
