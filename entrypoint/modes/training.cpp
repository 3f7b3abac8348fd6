#include "entrypoint/modes/training.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "entrypoint/flags/flags.h"
#include "entrypoint/flags/help.h"
#include "entrypoint/memory/memory_text.h"
#include "entrypoint/memory/training_memory.h"
#include "entrypoint/modes/earlier_job.h"
#include "entrypoint/modes/engine_options.h"
#include "entrypoint/modes/export_results.h"
#include "entrypoint/modes/job.h"
#include "entrypoint/modes/labelled_data.h"
#include "entrypoint/modes/preflight.h"
#include "entrypoint/modes/resolve_settings.h"
#include "entrypoint/platform/machine_description.h"
#include "entrypoint/platform/process_name.h"
#include "entrypoint/report/dry_run.h"
#include "entrypoint/report/event_files.h"
#include "entrypoint/report/hypertune_file.h"
#include "entrypoint/report/standard_output.h"
#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/log.h"
#include "storage/base/memory_limit.h"
#include "storage/base/text.h"
#include "storage/file_lock.h"
#include "storage/whole_file.h"
#include "trainer/loop/best_rule.h"
#include "trainer/loop/job_directory.h"
#include "trainer/loop/job_record.h"
#include "trainer/loop/results.h"
#include "trainer/loop/train.h"
#include "trainer/tasks/metric_names.h"

namespace berth {
namespace {

// The updates that a finished job made; nullopt: it is not finished. Throws kIncompatible where
// several seeds were trained.
std::optional<int64_t> finished_steps(Storage& storage, const JobDirectory& directory) {
  const Uri file = directory.metrics();
  const std::optional<std::string> text = read_text(storage, file);
  if (!text) return std::nullopt;
  const auto metrics = parse_json(*text);
  if (metrics.contains("seeds")) {
    throw Error(Code::kIncompatible, "the job directory belongs to a job of several seeds",
                file.to_string(), "use another --job-dir");
  }
  const Json::json_pointer finished("/finished"), steps("/train/steps");
  if (!metrics.contains(finished) || metrics.at(finished) != true || !metrics.contains(steps) ||
      !metrics.at(steps).is_number_integer()) {
    return std::nullopt;
  }
  return metrics.at(steps).get<int64_t>();
}

// The rows to evaluate on: of a file of their own, or held out; none where there are none.
std::optional<Dataset> make_eval_set(const TrainingRows& rows, const LabelledData& data) {
  if (rows.eval) return data.all_rows();
  if (rows.split.held_out.empty()) return std::nullopt;
  return data.rows(rows.split.held_out);
}

// What a new job writes first, and a resumed one is compared with.
JobRecord make_record(const Job& job, const Settings& settings, const TrainingRows& rows,
                      const ModelFolder& folder, const EngineInfo& engine) {
  JobRecord record{.settings = settings_table(job.command_line.settings),
                   .sources = rows.train.sources,
                   .labels = rows.labels,
                   .task = std::string(task_name(rows.task)),
                   .max_seq_length = settings.data.max_seq_length,
                   .version = version_text(),
                   .machine = machine_description(),
                   .kernels = engine.description};
  const auto add = [&record](const std::vector<Source>& sources) {
    record.sources.insert(record.sources.end(), sources.begin(), sources.end());
  };
  if (rows.eval) add(rows.eval->sources);
  if (rows.mismatched) add(rows.mismatched->sources);
  add(folder.sources());
  return record;
}

TrainingState resume(CheckpointStore& checkpoints, Engine& engine, JobProgress& progress) {
  std::optional<TrainingState> state = checkpoints.restore(engine);
  if (!state) return {};
  progress.step = state->step;
  progress.checkpoint = checkpoints.step_directory(state->step).to_string();
  log_info(cat("resuming after step ", state->step, " from ", progress.checkpoint));
  if (state->kernels != engine.info().description) {
    log_warning(cat("the checkpoint was computed by ", state->kernels, ", this is ",
                    engine.info().description, ": results go on, but not bit for bit"));
  }
  return std::move(*state);
}

void say_result(const EvaluationResult& evaluation, const std::string& metric,
                const std::string& split) {
  if (!evaluation.scores.metrics.contains(metric)) return;  // the loss, which was shown
  const auto digits = [](double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.4f", value);
    return std::string(text);
  };
  const TaskScores& scores = evaluation.scores;
  std::string line = cat(split == "validation" ? "held-out" : "evaluation", " ", metric, " ",
                         digits(scores.metrics.at(metric)));
  if (scores.majority_rate) line += cat(" (majority class ", digits(*scores.majority_rate), ")");
  log_info(cat(line, " over ", evaluation.examples, " examples"));
}

// What a finished job was not asked for, and would not do now. Throws kIncompatible.
void require_nothing_new(const EarlierJob& before, const Settings& settings) {
  const auto refuse = [&](const std::string& what, const char* hint) {
    throw Error(Code::kIncompatible, cat("the job is finished: ", what),
                before.directory().to_string(), hint);
  };
  const std::string& place = settings.output.export_dir;
  if (!place.empty() && before.setting("export-dir") != place) {
    refuse(cat("its model was not written to ", place), "--mode export_only writes it there");
  }
  if (settings.mode == Mode::kTrainAndEval && before.setting("mode") == "train") {
    refuse("it was trained without an evaluation", "--mode eval evaluates it");
  }
}

// Whether there is anything left to do in the job directory. Throws kIncompatible when it is
// another job's.
bool needs_work(const Job& job, const JobDirectory& directory) {
  const std::optional<int64_t> steps = finished_steps(job.storage, directory);
  const std::optional<std::string> existing = read_text(job.storage, directory.record());
  if (!existing) return true;
  if (!job.command_line.settings.output.reuse_job_dir) {
    throw Error(Code::kIncompatible, "the job directory was used before",
                directory.root().to_string(), "--no-reuse-job-dir asks for a new one");
  }
  try {
    check_settings_match(*existing, {.settings = settings_table(job.command_line.settings)});
  } catch (const Error& error) {
    throw error.at(directory.root().to_string());
  }
  if (!steps) return true;
  require_nothing_new(EarlierJob(directory.root(), *existing), job.command_line.settings);
  job.progress.step = *steps;
  log_info(cat("already finished: ", directory.root().to_string(), " holds the results"));
  return false;
}

// A state that checkpoints of another job left is not gone on from.
void require_own(const TrainingState& state, const JobRecord& record, const Uri& checkpoints) {
  if (state.job.empty() || state.job == job_identity(record)) return;
  throw Error(Code::kIncompatible, "the checkpoints belong to another job", checkpoints.to_string(),
              "use another --checkpoint-dir, or the same command to go on");
}

// Two processes in one job directory would remove each other's checkpoints. Of gs:// none is held:
// nothing there lets go when its process is killed.
std::optional<FileLock> hold(const JobDirectory& directory) {
  if (!directory.root().is_local()) return std::nullopt;
  return FileLock::take(directory.lease().path(), cat(R"({"holder": ")", process_name(), "\"}"));
}

// Writes job.json, or compares it with what an earlier process read.
void settle_record(const Job& job, const JobDirectory& directory, const JobRecord& record) {
  const std::optional<std::string> existing = read_text(job.storage, directory.record());
  if (!existing) return write_text(job.storage, directory.record(), to_json(record));
  try {
    check_sources_match(*existing, record);
  } catch (const Error& error) {
    throw error.at(directory.root().to_string());
  }
}

// The head at least learns.
void require_learning(const OptimizationOptions& options, const ModelConfig& config) {
  const int64_t layers =
      config.num_hidden_groups > 0 ? config.num_hidden_groups : config.num_hidden_layers;
  if (options.lora && options.freeze_encoder_layers >= layers) {
    throw Error(Code::kUsage, "freezes every layer that has adapters", "--freeze-encoder-layers",
                "leave it or --lora-rank out");
  }
  if (options.freeze_encoder_layers <= layers) return;
  throw Error(Code::kUsage,
              cat("the model has ", layers, " layers of parameters, fewer than ",
                  options.freeze_encoder_layers),
              "--freeze-encoder-layers");
}

// `options` with the metric that tells the best model: the flag's, else the benchmark's, else the
// task's main one.
TrainingOptions with_best_metric(TrainingOptions options, const DataSources& sources,
                                 const std::string& main_metric) {
  if (!options.metric_for_best_model.empty()) return options;
  options.metric_for_best_model = sources.metric.empty() ? main_metric : sources.metric;
  return options;
}

// What the summaries tell of the job.
std::string settings_markdown(const JobRecord& record) {
  std::string table = "| flag | value |\n| --- | --- |\n";
  for (const auto& [name, value] : record.settings) table += cat("| ", name, " | ", value, " |\n");
  return table;
}

// Nothing where no tuning service waits. Throws kUsage, before the job directory is this job's.
std::unique_ptr<Observer> make_hypertune_file(const Job& job, const std::string& asked,
                                              const TrainingOptions& training,
                                              const std::vector<std::string>& metrics) {
  const Tuning& tuning = job.command_line.tuning;
  if (!wants_hypertune_file(tuning, asked)) return nullptr;
  const std::string& best = training.metric_for_best_model;
  return std::make_unique<HypertuneFile>(tuning, hypertune_metric(tuning, asked, best, metrics));
}

// MNLI's second set, with the model as it is.
EvaluationResult evaluate_beside(Job& job, const Settings& settings, const LoadedTable& loaded,
                                 const ModelDescription& model, const TrainingRows& rows,
                                 Engine& engine, const ReadingOptions& reading) {
  const LabelledData data(loaded, rows.task, rows.labels, /*wants_labels=*/true, settings,
                          *model.tokenizer);
  Dataset examples = data.all_rows();
  const std::optional<EvaluationResult> result =
      evaluate(engine, examples, settings.training.examples_per_evaluation_batch(), reading,
               job.output, job.stop);
  job.stop_point();
  return *result;
}

void print_dry_run(const Job& job, const DryRun& dry_run) {
  const bool as_json = job.command_line.log_format == "json";
  StandardOutput output;
  output.write(as_bytes(as_json ? to_json(dry_run) + "\n" : to_text(dry_run)));
  output.close();
}

void say_what_learns(const LoraOptions& lora, std::span<const ParameterSpec> specs) {
  if (!lora) return;
  int64_t learning = 0;
  for (const ParameterSpec& spec : specs) learning += spec.trains ? spec.elements() : 0;
  log_info(cat("LoRA of rank ", lora.rank, ": ", learning, " of ", total_elements(specs),
               " parameters learn"));
}

}  // namespace

void run_training(Job& job) {
  const JobDirectory directory(job.command_line.settings.output);
  const bool dry_run = job.command_line.dry_run;
  if (!needs_work(job, directory) && !dry_run) return;
  const ResolvedJob resolved = resolve_settings(job.storage, job.command_line);
  const Settings& settings = resolved.settings;
  preflight(job.storage, settings);

  ModelFolder folder(job.storage, settings.model);
  ModelDescription model = describe_model(folder, settings.model, settings.data);
  require_exportable(settings, model.config);
  require_learning(settings.training.optimization, model.config);
  job.stop_point();
  const TrainingRows rows =
      load_training_rows(job.storage, settings, resolved.sources, model.config);
  model.config.task = rows.task;
  model.config.labels = rows.labels;
  job.stop_point();
  const size_t program = program_bytes(rows);

  const LabelledData train_data(rows.train, rows.task, rows.labels, /*wants_labels=*/true, settings,
                                *model.tokenizer, rows.class_weights);
  const LabelledData eval_data(rows.eval ? *rows.eval : rows.train, rows.task, rows.labels,
                               /*wants_labels=*/true, settings, *model.tokenizer);
  Dataset train_set = train_data.rows(rows.split.train);
  std::optional<Dataset> eval_set = make_eval_set(rows, eval_data);
  const std::vector<std::string> metrics =
      metric_names(rows.task, static_cast<int64_t>(rows.labels.size()));
  const TrainingOptions training =
      with_best_metric(settings.training, resolved.sources, metrics.front());
  // For what it throws, before the job directory is this job's.
  BestRule(training, metrics);
  std::unique_ptr<Observer> hypertune =
      make_hypertune_file(job, settings.output.hypertune_metric, training, metrics);
  const std::unique_ptr<Device> device = make_device(job.command_line);
  const int threads = compute_threads(settings);
  if (settings.training.token_budget > 0) train_set.count_tokens(threads, job.stop);
  job.stop_point();
  const LoraOptions& lora = settings.training.optimization.lora;
  const DataMemory data = data_memory(program, rows, train_set, eval_set);
  const std::optional<MemoryLimit> limit = memory_limit();
  const MemoryEstimate memory = training_memory(settings, model.config, data, limit, *device);
  log_info("memory: " + memory_text(memory, limit));
  const Plan plan = make_plan(settings.training, train_set);
  JobReport report{.train_examples = train_set.size(),
                   .eval_examples = eval_set ? eval_set->size() : 0,
                   .parameters = total_elements(parameter_table(model.config, lora)),
                   .total_steps = plan.total_steps,
                   .batch_size = settings.training.batch_size,
                   .token_budget = settings.training.token_budget,
                   .num_labels = static_cast<int64_t>(rows.labels.size()),
                   .epochs = plan.epochs,
                   .kernels = device->info().description};
  if (dry_run) print_dry_run(job, {.job = report, .memory = memory, .limit = limit});
  require_training_memory(settings, model.config, data, limit, *device);
  if (memory.saves == Saving::kWhileTrainingWaits) {
    log_info("a copy to write checkpoints of would not fit: training waits while they are written");
  }
  if (dry_run) return;
  const std::optional<FileLock> lease = hold(directory);
  const std::unique_ptr<Engine> engine =
      device->make_engine(training_engine(settings, model.config, data.most_examples));
  say_what_learns(lora, engine->tensors(StateTensors::kValues).specs());
  CheckpointStore checkpoints(job.storage, directory.checkpoints(),
                              settings.training.save_total_limit, memory.saves);
  TrainingState state = resume(checkpoints, *engine, job.progress);
  const auto fill = [&](ParameterTensors& values) {
    fill_parameters(folder, settings.model, model.config, settings.training.seed, threads, values);
  };
  if (state.step == 0) {
    fill(engine->tensors(StateTensors::kValues));
    engine->tensors_written();
  } else if (settings.model.init == Init::kPretrained) {
    if (const auto file = folder.parameters()) file->verify();  // recorded, to be compared
  }
  const JobRecord record = make_record(job, settings, rows, folder, engine->info());
  require_own(state, record, directory.checkpoints());
  settle_record(job, directory, record);
  state.job = job_identity(record);

  const ReadingOptions reading{.labels = rows.labels, .answers = answer_options(settings.data)};
  const TrainingParts parts{.options = training,
                            .engine = *engine,
                            .train_data = train_set,
                            .eval_data = eval_set ? &*eval_set : nullptr,
                            .reading = reading,
                            .metrics = metrics,
                            .eval_split = rows.eval ? "eval" : "validation",
                            .checkpoints = checkpoints,
                            .observer = job.output,
                            .stop = job.stop,
                            .fill_parameters = fill};
  job.output.add(std::make_unique<EventFiles>(
      job.storage, directory.summaries(),
      EventFileOptions{.writer = process_name(), .settings = settings_markdown(record)}));
  if (hypertune) job.output.add(std::move(hypertune));
  report.first_step = state.step;
  job.output.on_start(report);
  job.saves_on_stop = true;
  const TrainResult result = train(parts, plan, std::move(state));

  JobMetrics job_metrics{.result = result,
                         .evaluation = result.evaluation,
                         .task = rows.task,
                         .precision = engine->info().product_dtype,
                         .kernels = engine->info().description};
  if (rows.mismatched) {
    job_metrics.mismatched =
        evaluate_beside(job, settings, *rows.mismatched, model, rows, *engine, reading);
  }
  export_results(job.storage, settings, directory.model(), model,
                 engine->tensors(StateTensors::kValues), job_metrics);
  job.output.on_finish();
  if (result.evaluation) {
    say_result(*result.evaluation, training.metric_for_best_model, parts.eval_split);
  }
  write_text(job.storage, directory.metrics(), to_json(job_metrics));
}

}  // namespace berth
