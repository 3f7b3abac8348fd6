#include "entrypoint/flags/flag_table.h"

namespace berth {
namespace {

auto training(auto member) { return place(&CommandLine::settings, &Settings::training, member); }
auto output(auto member) { return place(&CommandLine::settings, &Settings::output, member); }

}  // namespace

std::vector<Flag> output_flags() {
  using enum FlagGroup;
  return {
      {"job-dir",
       {"model-dir", "output-dir"},
       kOutput,
       "Where checkpoints, summaries and the finished model go. The same command resumes there.",
       text_value("DIR", output(&OutputOptions::job_dir)),
       "the parent of AIP_MODEL_DIR, if set"},
      {"reuse-job-dir",
       {},
       kOutput,
       "Resume in a job directory that was used before; --no-reuse-job-dir refuses it.",
       switch_value(output(&OutputOptions::reuse_job_dir))},
      {"export-dir",
       {"model-export-path"},
       kOutput,
       "Where the finished model goes.",
       text_value("DIR", output(&OutputOptions::export_dir)),
       "AIP_MODEL_DIR or JOB_DIR/model"},
      {"checkpoint-dir",
       {},
       kOutput,
       "Where checkpoints go.",
       text_value("DIR", output(&OutputOptions::checkpoint_dir)),
       "AIP_CHECKPOINT_DIR or JOB_DIR/checkpoints"},
      {"summary-dir",
       {"logging-dir"},
       kOutput,
       "Where TensorBoard summaries go.",
       text_value("DIR", output(&OutputOptions::summary_dir)),
       "AIP_TENSORBOARD_LOG_DIR or JOB_DIR/summaries"},
      {"logging-steps",
       {"log-steps"},
       kOutput,
       "Updates between logged losses.",
       integer_value(training(&TrainingOptions::logging_steps), {1, kAnyCount})},
      {.name = "log-format",
       .aliases = {},
       .group = kOutput,
       .help = "Progress and messages on standard error: auto is text with a bar on a terminal, "
               "else JSON, one object a line.",
       .value = choice_value<std::string>(place(&CommandLine::log_format),
                                          {{"auto", "auto"}, {"text", "text"}, {"json", "json"}}),
       .in_settings = false},
      {.name = "log-level",
       .aliases = {},
       .group = kOutput,
       .help = "The least urgent messages to show.",
       .value =
           choice_value<LogLevel>(place(&CommandLine::log_level), {{"error", LogLevel::kError},
                                                                   {"warning", LogLevel::kWarning},
                                                                   {"info", LogLevel::kInfo},
                                                                   {"debug", LogLevel::kDebug}}),
       .in_settings = false},
  };
}

}  // namespace berth
