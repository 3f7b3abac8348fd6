#include "entrypoint/job/retrieval.h"

#include <algorithm>

#include "entrypoint/flags/similarity_rules.h"
#include "entrypoint/job/job.h"
#include "entrypoint/job/model_choice.h"
#include "entrypoint/job/prompts.h"
#include "entrypoint/job/token_survey.h"
#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "trainer/metrics/retrieval.h"
#include "trainer/tasks/task_results.h"

namespace berth {

std::unique_ptr<RetrievalSet> load_retrieval(Storage& storage, const Settings& settings,
                                             const ModelConfig& config) {
  const DataOptions& data = settings.data;
  if (data.eval_retrieval.empty()) {
    if (data.eval_retrieval_split.empty()) return nullptr;
    throw Error(Code::kUsage, "there is no search to evaluate on", "--eval-retrieval-split",
                "give --eval-retrieval, or leave this flag out");
  }
  if (!compares_texts(config)) {
    throw Error(Code::kUsage, "only --task similarity trains embeddings that search",
                "--eval-retrieval", "give that task, or leave this flag out");
  }
  const bool trains = traits(settings.mode).trains();
  std::vector<std::string> splits = {"test", "dev", "validation"};
  if (trains) splits = {"dev", "validation", "test"};
  auto set = load_retrieval_set(storage, {.path = data.eval_retrieval,
                                          .split = data.eval_retrieval_split,
                                          .usual_splits = std::move(splits),
                                          .form = {.encoding = data.text_form.encoding},
                                          .skip_bad_rows = data.skip_bad_rows});
  if (trains && data.eval_retrieval_split.empty() && set->split() == "test") {
    log_warning(
        "the retrieval set has no split dev, so the split test chooses the best checkpoint; its "
        "figures are then too good");
  }
  return set;
}

namespace {

// Looks at a thousand passages at most, evenly spaced.
void warn_of_cut_passages(const RetrievalSet& set, const RetrievalReading& reading,
                          int64_t positions) {
  constexpr size_t kMost = 1000;
  TokenSurvey survey{
      .lengths = {.max_seq_length = reading.max_seq_length, .texts = std::ssize(set.places())}};
  const size_t count = std::min(set.documents(), kMost);
  for (size_t i = 0; i < count; ++i) {
    const auto number = static_cast<uint32_t>(i * set.documents() / count);
    const std::string text = reading.prompts.passage + set.document(number).texts[0];
    const Encoding whole = reading.tokenizer.encode(text, std::nullopt, kLongestSequence);
    survey.lengths.lengths.push_back(static_cast<double>(whole.input_ids.size()));
  }
  warn_of_tokens(set.name(), {cut_texts(survey, positions)});
}

}  // namespace

RetrievalReading retrieval_reading(const ModelDescription& model, const Settings& settings,
                                   const BatchLimits& limits, const RetrievalSet& set) {
  RetrievalReading reading{.tokenizer = *model.tokenizer,
                           .max_seq_length = settings.data.max_seq_length,
                           .prompts = search_prompts(model.sentences),
                           .limits = limits,
                           .threads = compute_threads(settings)};
  const EmbeddingOptions& options = settings.embedding;
  if (options.truncate_dim && traits(settings.mode).runs_finished_model()) {
    reading.compared_size = *options.truncate_dim;
  } else {
    for (const NestedSize& nested : nested_sizes(options)) {
      reading.nested_sizes.push_back(nested.size);
    }
  }
  for (const std::string& prompt : {reading.prompts.query, reading.prompts.passage}) {
    require_pooled(model.sentences, prompt);
  }
  log_info(
      cat(describe(reading.prompts), "; texts of at most ", reading.max_seq_length, " tokens"));
  warn_of_cut_passages(set, reading, model.config.max_sequence_length());
  return reading;
}

std::vector<std::string> evaluated_metrics(Task task, int64_t num_classes, bool has_rows,
                                           bool has_set) {
  std::vector<std::string> names;
  if (has_set) names = RetrievalMetrics::names();
  if (!has_rows && has_set) return names;
  for (std::string& name : metric_names(task, num_classes)) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  }
  return names;
}

}  // namespace berth
