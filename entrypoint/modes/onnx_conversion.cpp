#include "entrypoint/modes/onnx_conversion.h"

#include <optional>

#include "entrypoint/job/export_results.h"
#include "entrypoint/job/job.h"
#include "entrypoint/job/settle_embedding.h"
#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/whole_file.h"
#include "trainer/loop/load_model.h"
#include "trainer/loop/onnx_files.h"
#include "trainer/tasks/glue.h"
#include "trainer/text/load_tokenizer.h"
#include "trainer/weights/write_tensors.h"

namespace berth {
namespace {

std::optional<Task> named_task(const std::string& name) {
  const GlueTask* glue = find_glue_task(name);
  return glue != nullptr ? std::optional(glue->task) : find_task(name);
}

// The folder's settings for embeddings. If berth cannot compute a model's embeddings, the graph is
// only its encoder.
SentenceFiles sentence_files(ModelFolder& folder) {
  try {
    return read_sentence_files(folder);
  } catch (const Error& error) {
    if (error.code() != Code::kUsage) throw;
    log_warning(cat(error.what(), "; the graph has no embeddings of texts"));
    return {};
  }
}

ModelConfig config_for_graph(const Settings& settings, ModelFolder& folder,
                             const SentenceFiles& files) {
  ModelConfig config;
  try {
    config = parse_config(folder.config_json());
  } catch (const Error& error) {
    throw error.at(folder.name() + ": its configuration");
  }
  std::optional<Task> task = named_task(settings.data.task);
  if (!task) task = files.is_there ? Task::kTextEmbedding : config.saved_task;
  config.task = task.value_or(Task::kHiddenStates);
  std::vector<std::string> rules;
  resolve_decoder(folder, settings.model, config, rules);
  if (makes_embeddings(config.task)) settle_embedding(files, settings.embedding, config);
  const TaskTraits& row = traits(config.task);
  if (!row.has_classes) config.labels = output_labels(config.task);
  // transformers saves no names of two labels that have none.
  if (row.has_classes && config.labels.empty()) config.labels = {"LABEL_0", "LABEL_1"};
  require_exportable(settings, config);
  return config;
}

// Whether the folder's tokenizer gives token types. A folder without a tokenizer may.
bool gives_types(ModelFolder& folder) {
  try {
    return load_tokenizer([&](std::string_view name) { return folder.text(name); })
        ->has_token_types();
  } catch (const Error&) {
    return true;
  }
}

}  // namespace

OnnxConversion::OnnxConversion(const Settings& settings, ModelFolder& folder)
    : dtype_(settings.output.export_dtype.value_or(DType::kF32)),
      files_(sentence_files(folder)),
      config_(config_for_graph(settings, folder, files_)),
      gives_types_(gives_types(folder)),
      values_(parameter_table(config_)) {
  fill_parameters(folder, settings.model, config_, /*seed=*/0, compute_threads(settings), values_,
                  HeadNeed::kRequired);
  require_range(values_, dtype_);
}

void OnnxConversion::write(Storage& storage, const Uri& directory) const {
  write_text(storage, directory / "config.json", to_config_json(config_, dtype_));
  if (makes_embeddings(config_.task)) {
    write_sentence_files(storage, directory, config_,
                         files_.max_seq_length.value_or(config_.max_sequence_length()), files_);
  }
  export_onnx(storage, directory, config_, values_, dtype_, gives_types_);
  log_info(cat("the graph is for ", task_name(config_.task)));
}

}  // namespace berth
