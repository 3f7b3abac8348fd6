#include "entrypoint/modes/embedding.h"

#include <algorithm>
#include <memory>

#include "entrypoint/job/finished_model.h"
#include "entrypoint/job/job_results.h"
#include "entrypoint/job/labelled_data.h"
#include "entrypoint/job/token_survey.h"
#include "entrypoint/modes/shared_inference.h"
#include "entrypoint/report/standard_output.h"
#include "storage/base/counted.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/formats/vector_writer.h"
#include "trainer/loop/embed.h"
#include "trainer/loop/job_directory.h"
#include "trainer/tasks/empty_rows.h"

namespace berth {
namespace {

std::unique_ptr<VectorWriter> make_writer(EmbeddingsFormat format, ByteSink& sink,
                                          const VectorTable& table) {
  switch (format) {
    case EmbeddingsFormat::kNpy:
      return make_npy_writer(sink, table);
    case EmbeddingsFormat::kParquet:
      return make_vector_table_writer(sink, table);
    case EmbeddingsFormat::kJsonl:
      break;
  }
  return make_vector_lines_writer(sink, table);
}

std::string_view name_of(Pooling pooling) {
  return pooling == Pooling::kMean ? "mean" : pooling == Pooling::kCls ? "cls" : "max";
}

}  // namespace

void run_embedding(Job& job) {
  FinishedModel finished(job);
  const Settings& settings = finished.settings();
  const ModelConfig& config = finished.config();
  DataRequest request = finished.sources().predict;
  request.rules.keeps_missing_texts = true;
  const LoadedTable loaded = finished.load(request);
  const LabelledData rows(loaded, config.task, /*labels=*/{}, /*wants_labels=*/false, settings,
                          finished.tokenizer());
  warn_of_tokens(loaded, config, settings, finished.tokenizer());
  Dataset data = rows.all_rows();
  Engine& engine = finished.engine_for(loaded, data);
  const SentenceFiles& files = finished.sentences();
  // As encode() does: the folder's Normalize comes before truncate_dim, a wish to normalize behind.
  const EmbeddingForm form{
      .normalizes = files.normalizes && config.normalizes_embeddings,
      .width = static_cast<size_t>(
          std::min(config.hidden_size, files.truncate_dim.value_or(config.hidden_size))),
      .normalizes_after = config.normalizes_embeddings && settings.embedding.normalizes};
  log_info(cat("embeddings: ", form.width, " numbers",
               form.width < static_cast<size_t>(config.hidden_size) ? " (truncate_dim)" : "",
               ", pooling ", name_of(config.pooling),
               config.normalizes_embeddings ? ", scaled to length 1" : "", ", texts of at most ",
               settings.data.max_seq_length, " tokens"));
  const VectorTable table{.rows = static_cast<uint64_t>(data.rows()),
                          .width = form.width,
                          .has_ids = loaded.table->has_ids};
  const auto embed = [&](VectorWriter* writer) {
    const int64_t batch_size = settings.training.examples_per_evaluation_batch();
    if (!write_embeddings(engine, data, batch_size, form, writer, job.output, job.stop,
                          job.ranks)) {
      throw_stopped();
    }
  };
  const auto write = [&](ByteSink& sink) {
    embed(make_writer(settings.embedding.format, sink, table).get());
  };
  const std::string& file = job.command_line.tool.predictions_file;
  if (!job.leads()) {
    embed(nullptr);
  } else if (file == "-" || (file.empty() && settings.output.job_dir.empty())) {
    StandardOutput output;
    write(output);
    output.close();
  } else {
    const Uri place = file.empty()
                          ? JobDirectory(settings.output).embeddings(settings.embedding.format)
                          : Uri::parse(file);
    store_results(job, place, write);
    job.progress.set_results(embedding_results(place, settings.embedding.format));
  }
  job.output.on_finish();
  int64_t empty = 0;
  const InputKind inputs = traits(data.task()).inputs;
  for (int64_t i = 0; i < data.size(); ++i) empty += is_empty_row(data.example(i), inputs);
  if (empty > 0) {
    log_warning(cat(counted(empty, "row"), empty == 1 ? " has" : " have",
                    " no text and the embedding of an empty text"));
  }
  log_info("embedded " + counted(data.rows(), "text"));
}

}  // namespace berth
