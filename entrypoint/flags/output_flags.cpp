#include "entrypoint/flags/flag_table.h"

namespace berth {
std::vector<Flag> output_flags() {
  using enum FlagGroup;
  return {
      {"job-dir",
       {"model-dir", "output-dir"},
       kOutput,
       "The job directory, for checkpoints, summaries and the finished model. The same command "
       "resumes an interrupted job there.",
       text_value("DIR", output_option(&OutputOptions::job_dir)),
       "the parent of AIP_MODEL_DIR, if set"},
      {"reuse-job-dir",
       {},
       kOutput,
       "Resume in a job directory that was used before. With --no-reuse-job-dir that is an error.",
       switch_value(output_option(&OutputOptions::reuse_job_dir))},
      {"export-dir",
       {"model-export-path"},
       kOutput,
       "The directory for the finished model.",
       text_value("DIR", output_option(&OutputOptions::export_dir)),
       "AIP_MODEL_DIR or JOB_DIR/model"},
      {.name = "predictions-file",
       .aliases = {"predict-output-file"},
       .group = kOutput,
       .help = "For --mode predict and embed: the file for the predictions or embeddings, local or "
               "gs://, or - for standard output.",
       .value = text_value("FILE", place(&CommandLine::tool, &ToolOptions::predictions_file)),
       .default_text = "JOB_DIR/predictions.tsv or JOB_DIR/embeddings.npy; without --job-dir, "
                       "standard output",
       .in_settings = false},
      {.name = "predictions-with-text",
       .aliases = {},
       .group = kOutput,
       .help = "For --mode predict: add the texts of the row, or the word, to each line.",
       .value = switch_value(place(&CommandLine::tool, &ToolOptions::predictions_with_text)),
       .in_settings = false},
      {"checkpoint-dir",
       {},
       kOutput,
       "The directory for checkpoints.",
       text_value("DIR", output_option(&OutputOptions::checkpoint_dir)),
       "AIP_CHECKPOINT_DIR or JOB_DIR/checkpoints"},
      {"summary-dir",
       {"logging-dir"},
       kOutput,
       "The directory for TensorBoard summaries.",
       text_value("DIR", output_option(&OutputOptions::summary_dir)),
       "AIP_TENSORBOARD_LOG_DIR or JOB_DIR/summaries"},
      {"logging-steps",
       {"log-steps"},
       kOutput,
       "Log the loss after every so many updates.",
       integer_value(training_option(&TrainingOptions::logging_steps), {1, kAnyCount})},
      {.name = "log-format",
       .aliases = {},
       .group = kOutput,
       .help = "The format of progress and messages on standard error. auto means text with a "
               "progress bar on a terminal, and one JSON object a line elsewhere.",
       .value = choice_value<std::string>(place(&CommandLine::log_format),
                                          {{"auto", "auto"}, {"text", "text"}, {"json", "json"}}),
       .in_settings = false},
      {.name = "log-level",
       .aliases = {},
       .group = kOutput,
       .help = "The least severe messages to show.",
       .value =
           choice_value<LogLevel>(place(&CommandLine::log_level), {{"error", LogLevel::kError},
                                                                   {"warning", LogLevel::kWarning},
                                                                   {"info", LogLevel::kInfo},
                                                                   {"debug", LogLevel::kDebug}}),
       .in_settings = false},
  };
}

}  // namespace berth
