#include "entrypoint/training/probe_plan.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "entrypoint/job/job.h"
#include "entrypoint/job/labelled_data.h"
#include "entrypoint/job/resolve_settings.h"
#include "storage/base/error.h"
#include "storage/base/text.h"
#include "trainer/tasks/metric_names.h"

namespace berth {
namespace {

constexpr int64_t kProbeBatchSize = 16, kProbeEpochs = 3;
constexpr double kMostHeldOut = 0.2;

// The part of the fine-tuning's command line that does not depend on the rows.
CommandLine command_of(const CommandLine& job, const Settings& settings, const ProbeFile& file,
                       const ProbePlaces& places) {
  CommandLine command;
  command.log_format = "json";
  command.highest_instruction_set = job.highest_instruction_set;
  command.storage = job.storage;
  if (command.storage.cache_dir.empty()) command.storage.cache_dir = places.cache.string();
  Settings& own = command.settings;
  own.data.task = file.task;
  own.data.train_data_file = file.file;
  own.data.validation_split = kMostHeldOut;
  own.data.max_train_samples = settings.probes.samples;
  own.data.max_seq_length = settings.data.max_seq_length;
  own.model.model = places.model.string();
  own.training.batch_size = kProbeBatchSize;
  own.training.save_steps = 0;
  own.training.keeps_weights = false;
  own.output.job_dir = places.job.string();
  own.device = DeviceKind::kCpu;
  own.precision = settings.precision;
  own.threads = compute_threads(settings);
  return command;
}

// The rows to score: held-out ones, about as many as train, where there are as many.
double held_out_fraction(size_t rows, int64_t samples) {
  return std::min(kMostHeldOut, static_cast<double>(samples) / static_cast<double>(rows));
}

// Measures the rows that the fine-tuning uses, and makes the features of some. `held_out` may hold
// more rows than it will score.
DataMemory memory_of(const TrainingRows& rows, const Settings& settings, int64_t scored,
                     const Tokenizer& tokenizer) {
  const LabelledData examples(rows.train, rows.task, rows.labels, /*wants_labels=*/true, settings,
                              tokenizer);
  std::vector<uint32_t> held_out = rows.split.held_out;
  held_out.resize(std::min(held_out.size(), static_cast<size_t>(scored)));
  Dataset train = examples.rows(rows.split.train);
  std::optional<Dataset> eval = examples.rows(held_out);
  return data_memory(/*program=*/0, rows, train, eval);
}

ProbePlan plan(Storage& storage, CommandLine command, int64_t samples,
               const ModelDescription& model) {
  ResolvedJob resolved = resolve_settings(storage, command);
  expect_tokenizer(*model.tokenizer, resolved.sources);
  const TrainingRows rows =
      load_training_rows(storage, resolved.settings, resolved.sources, model.config);
  if (rows.split.held_out.empty() || rows.split.train.empty()) {
    throw Error(Code::kBadData, "the rows are too few to hold some out", rows.train.name);
  }
  const double fraction = held_out_fraction(rows.train.table->rows(), samples);
  ProbePlan plan;
  ProbeFacts& facts = plan.facts;
  facts.task = std::string(task_name(rows.task));
  facts.train_examples = static_cast<int64_t>(rows.split.train.size());
  facts.scored_examples = std::min<int64_t>(samples, std::ssize(rows.split.held_out));
  facts.updates = kProbeEpochs * ((facts.train_examples + kProbeBatchSize - 1) / kProbeBatchSize);
  plan.metric = resolved.sources.metric;
  if (plan.metric.empty()) plan.metric = metric_names(rows.task, std::ssize(rows.labels)).front();
  plan.config = model.config;
  plan.config.task = rows.task;
  plan.config.labels = rows.labels;
  plan.memory = memory_of(rows, resolved.settings, facts.scored_examples, *model.tokenizer);
  command.settings.data.validation_split = fraction;
  command.settings.training.max_steps = facts.updates;
  command.settings.training.eval_steps = facts.updates;
  plan.command = std::move(command);
  return plan;
}

}  // namespace

ProbePlan plan_probe(Storage& storage, const CommandLine& job, const Settings& settings,
                     const ModelDescription& model, const ProbeFile& file,
                     const ProbePlaces& places) {
  try {
    ProbePlan planned =
        plan(storage, command_of(job, settings, file, places), settings.probes.samples, model);
    planned.facts.name = file.name;
    return planned;
  } catch (const Error& error) {
    throw error.at("--probe " + file.name);
  }
}

size_t probe_memory(const ProbePlan& plan, size_t program_bytes, Device& device) {
  DataMemory data = plan.memory;
  data.program = program_bytes;
  return training_memory(plan.command.settings, plan.config, data, /*limits=*/{}, device).on_host();
}

}  // namespace berth
