#include "entrypoint/flags/flag_table.h"

namespace berth {
std::vector<Flag> output_flags() {
  using enum Effect;
  using enum FlagGroup;
  return {
      {"job-dir",
       {"model-dir", "output-dir"},
       kOutput,
       "The job directory, for checkpoints, summaries and the finished model. The same command "
       "resumes an interrupted job there.",
       path_value("DIR", output_option(&OutputOptions::job_dir)),
       FlagRole(kFree, kEverywhere, kOwnToWorker | kNoHparam | kWrittenTo).needed_as(kNeedsJobDir),
       "the parent of AIP_MODEL_DIR, if set"},
      {"reuse-job-dir",
       {},
       kOutput,
       "Resume in a job directory that was used before. With --no-reuse-job-dir that is an error.",
       switch_value(output_option(&OutputOptions::reuse_job_dir)),
       {kFree, kInTraining}},
      {"export-dir",
       {"model-export-path"},
       kOutput,
       "The directory for the finished model.",
       path_value("DIR", output_option(&OutputOptions::export_dir)),
       FlagRole(kFree, kInTraining, kOwnToWorker | kNoHparam | kWrittenTo)
           .needed_as(kNeedsExportDir),
       "AIP_MODEL_DIR or JOB_DIR/model"},
      {"report",
       {},
       kOutput,
       "Write JOB_DIR/report.html, a page with the job's curves and results, at each evaluation, "
       "at each checkpoint and at the end.",
       switch_value(output_option(&OutputOptions::report)),
       {kFree, kInTraining}},
      {.name = "predictions-file",
       .aliases = {"predict-output-file"},
       .group = kOutput,
       .help = "For --mode predict and embed: the file for the predictions or embeddings, local or "
               "gs://, or - for standard output.",
       .value = path_value("FILE", place(&CommandLine::tool, &ToolOptions::predictions_file)),
       .role = {kUnrecorded, kInPredict | kInEmbed, kRefusedElsewhere},
       .default_text = "JOB_DIR/predictions.tsv or JOB_DIR/embeddings.npy; without --job-dir, "
                       "standard output"},
      {.name = "predictions-with-text",
       .aliases = {},
       .group = kOutput,
       .help = "For --mode predict: add the texts of the row, or the word, to each line.",
       .value = switch_value(place(&CommandLine::tool, &ToolOptions::predictions_with_text)),
       .role = {kUnrecorded, kInPredict, kRefusedElsewhere}},
      {.name = "predictions-safe-for-spreadsheets",
       .aliases = {},
       .group = kOutput,
       .help = "For --mode predict: put an apostrophe before a text that begins with =, +, - or @, "
               "so that a spreadsheet does not compute it.",
       .value =
           switch_value(place(&CommandLine::tool, &ToolOptions::predictions_safe_for_spreadsheets)),
       .role = {kUnrecorded, kInPredict, kRefusedElsewhere}},
      {"checkpoint-dir",
       {},
       kOutput,
       "The directory for checkpoints.",
       path_value("DIR", output_option(&OutputOptions::checkpoint_dir)),
       {kFree, kInTraining, kOwnToWorker | kNoHparam | kWrittenTo},
       "AIP_CHECKPOINT_DIR or JOB_DIR/checkpoints"},
      {"summary-dir",
       {"logging-dir"},
       kOutput,
       "The directory for TensorBoard summaries.",
       path_value("DIR", output_option(&OutputOptions::summary_dir)),
       {kFree, kInTraining, kOwnToWorker | kNoHparam | kWrittenTo},
       "AIP_TENSORBOARD_LOG_DIR or JOB_DIR/summaries"},
      {"logging-steps",
       {"log-steps"},
       kOutput,
       "Log the loss after every N updates.",
       integer_value(training_option(&TrainingOptions::logging_steps), {1, kAnyCount}),
       {kFree, kInTraining}},
      {.name = "row-preview",
       .aliases = {},
       .group = kOutput,
       .help = "Show three rows as the model takes them at the start of the log, in --dry-run and "
               "in the report: their texts, tokens and labels, and what is cut. With "
               "--no-row-preview no text of the training data gets there.",
       .value = switch_value(place(&CommandLine::row_preview)),
       .role = {kUnrecorded, kInTraining},
       .default_text = "true"},
      {.name = "log-histograms",
       .aliases = {},
       .group = kOutput,
       .help = "Write a histogram of each parameter that trains to the TensorBoard summaries, at "
               "each evaluation.",
       .value = switch_value(place(&CommandLine::log_histograms)),
       .role = {kUnrecorded, kInTraining}},
      {.name = "log-format",
       .aliases = {},
       .group = kOutput,
       .help = "The format of progress and messages on standard error. auto means text with a "
               "progress bar on a terminal, and one JSON object a line elsewhere.",
       .value = choice_value<std::string>(place(&CommandLine::log_format),
                                          {{"auto", "auto"}, {"text", "text"}, {"json", "json"}}),
       .role = {kUnrecorded, kEverywhere}},
      {.name = "log-level",
       .aliases = {},
       .group = kOutput,
       .help = "The least severe messages to show.",
       .value =
           choice_value<LogLevel>(place(&CommandLine::log_level), {{"error", LogLevel::kError},
                                                                   {"warning", LogLevel::kWarning},
                                                                   {"info", LogLevel::kInfo},
                                                                   {"debug", LogLevel::kDebug}}),
       .role = {kUnrecorded, kEverywhere}},
  };
}

}  // namespace berth
