#include "entrypoint/flags/flag_table.h"
#include "storage/base/error.h"
#include "storage/base/text.h"

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
       .role = {kUnrecorded, kInPredict | kInEmbed | kInMine, kRefusedElsewhere},
       .default_text = "JOB_DIR/predictions.tsv or JOB_DIR/embeddings.npy; without --job-dir, "
                       "standard output"},
      {.name = "predictions-with-text",
       .group = kOutput,
       .help = "For --mode predict: add the texts of the row, or the word, to each line.",
       .value = switch_value(place(&CommandLine::tool, &ToolOptions::predictions_with_text)),
       .role = {kUnrecorded, kInPredict, kRefusedElsewhere}},
      {.name = "predictions-safe-for-spreadsheets",
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
       .group = kOutput,
       .help = "Show three rows as the model takes them at the start of the log, in --dry-run and "
               "in the report: their texts, tokens and labels, and what is cut. With "
               "--no-row-preview no text of the training data gets there.",
       .value = switch_value(place(&CommandLine::row_preview)),
       .role = {kUnrecorded, kInTraining},
       .default_text = "true"},
      {.name = "log-histograms",
       .group = kOutput,
       .help = "Write a histogram of each parameter that trains to the TensorBoard summaries, at "
               "each evaluation.",
       .value = switch_value(place(&CommandLine::log_histograms)),
       .role = {kUnrecorded, kInTraining}},
      {.name = "log-format",
       .group = kOutput,
       .help = "The format of progress and messages on standard error. auto means text with a "
               "progress bar on a terminal, and one JSON object a line elsewhere.",
       .value = choice_value<std::string>(place(&CommandLine::log_format),
                                          {{"auto", "auto"}, {"text", "text"}, {"json", "json"}}),
       .role = {kUnrecorded, kEverywhere}},
      {.name = "log-level",
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

namespace {

constexpr RealRange kSeconds{0, 1e6, false, true, "a number of seconds above 0"};

auto storage(auto... members) { return place(&CommandLine::storage, members...); }

}  // namespace

std::vector<Flag> storage_flags() {
  using enum Effect;
  using enum FlagGroup;
  return {
      {.name = "cache-dir",
       .group = kStorage,
       .help =
           "Cache files from gs:// and https:// in this directory, by version and checksum. A "
           "restarted job then does not fetch them again. Compiled programs for a TPU or GPU are "
           "cached there, too. Only users who may run this program should be able to write to it.",
       .value = path_value("DIR", storage(&StorageOptions::cache_dir)),
       .role = {kUnrecorded, kEverywhere},
       .default_text = "no cache"},
      {.name = "anonymous",
       .group = kStorage,
       .help = "Read public gs:// objects without credentials, instead of with Application Default "
               "Credentials.",
       .value = switch_value(storage(&StorageOptions::anonymous)),
       .role = {kUnrecorded, kEverywhere}},
      {.name = "user-project",
       .aliases = {"billing-project"},
       .group = kStorage,
       .help = "The project of Google Cloud that is billed for requests to gs:// (userProject). A "
               "bucket with requester pays needs it.",
       .value = text_value("NAME", storage(&StorageOptions::user_project)),
       .role = {kUnrecorded, kEverywhere},
       .default_text = "the bucket's own"},
      {.name = "parallel-uploads",
       .group = kStorage,
       .help =
           "Upload large gs:// objects as parts of 8 MiB, which storage then joins and deletes. "
           "Switch this off for a bucket whose objects may not be deleted, or not early.",
       .value = switch_value(storage(&StorageOptions::transfer, &TransferOptions::joins_parts)),
       .role = {kUnrecorded, kEverywhere}},
      {.name = "storage-endpoint",
       .group = kStorage,
       .help = "Another address of Google Cloud Storage; credentials are sent to it. An emulator "
               "is named by STORAGE_EMULATOR_HOST instead.",
       .value = text_value("URL", storage(&StorageOptions::endpoint)),
       .role = {kUnrecorded, kEverywhere},
       .default_text = "Google's"},
      {.name = "storage-retry-deadline",
       .group = kStorage,
       .help = "Give up a transfer after this many seconds without any progress.",
       .value = real_value(storage(&StorageOptions::retry, &RetryOptions::deadline_s), kSeconds),
       .role = {kUnrecorded, kEverywhere}},
      {.name = "storage-stall-timeout",
       .group = kStorage,
       .help = "Drop a connection and try again after this many seconds of silence.",
       .value = real_value(storage(&StorageOptions::http, &HttpClientOptions::stall_timeout_s),
                           kSeconds),
       .role = {kUnrecorded, kEverywhere}},
  };
}

namespace {

auto tool(auto... members) { return place(&CommandLine::tool, members...); }

FlagValue given_text() {
  const auto at = tool(&ToolOptions::text);
  return {"TEXT", false,
          [at](CommandLine& line, std::string_view value) { at(line) = std::string(value); },
          [at](const CommandLine& line) { return at(line).value_or(""); }};
}

// Refuses SavedModel by name: it holds a graph of TensorFlow's own operations.
FlagValue export_format() {
  FlagValue value = choice_value<ExportFormat>(
      place(&CommandLine::settings, &Settings::output, &OutputOptions::export_format),
      {{"safetensors", ExportFormat::kSafetensors},
       {"tensorflow", ExportFormat::kTensorflow},
       {"onnx", ExportFormat::kOnnx}});
  value.set = [choose = value.set](CommandLine& line, std::string_view given) {
    std::string wanted = lower_ascii(given);
    std::erase(wanted, '_');
    if (wanted != "savedmodel") return choose(line, given);
    throw Error(
        Code::kUsage, "berth writes no TensorFlow SavedModel", "",
        "use onnx (a graph), tensorflow (a checkpoint) or safetensors; --mode predict needs no "
        "export");
  };
  return value;
}

}  // namespace

std::vector<Flag> tool_flags() {
  using enum Effect;
  using enum FlagGroup;
  return {
      {.name = "input",
       .group = kTools,
       .help = "For --mode inspect: the model, checkpoint, data or event file to look into. For "
               "--mode fetch: the file, pattern, folder or archive to copy to --export-dir. For "
               "either, several may also stand at the end of the command. For --mode tokenize: a "
               "file with one text a line, or a .jsonl file with the keys text and text_pair; - is "
               "standard input. For --mode report: a job directory, and further ones at the end of "
               "the command.",
       .value = path_value("FILE", tool(&ToolOptions::input)),
       .role = {kUnrecorded, kInNone}},
      {.name = "text",
       .group = kTools,
       .help = "For --mode tokenize: the text to tokenize, instead of --input.",
       .value = given_text(),
       .role = {kUnrecorded, kInNone}},
      {.name = "add-special-tokens",
       .group = kTools,
       .help = "For --mode tokenize: add the special tokens, such as [CLS] and [SEP].",
       .value = switch_value(tool(&ToolOptions::add_special_tokens)),
       .role = {kUnrecorded, kInNone}},
      {.name = "json",
       .group = kTools,
       .help =
           "For --mode inspect: print one JSON object for each file instead of lines for people.",
       .value = switch_value(tool(&ToolOptions::json)),
       .role = {kUnrecorded, kInNone}},
      {.name = "report-file",
       .group = kTools,
       .help = "For --mode report: the page to write, local or gs://, or - for standard output.",
       .value = path_value("FILE", tool(&ToolOptions::report_file)),
       .role = {kUnrecorded, kInNone}},
      {.name = "max-age",
       .group = kTools,
       .help = "For --mode heartbeat: how many seconds a training may give no sign of life.",
       .value = integer_value(tool(&ToolOptions::max_age_s), {1, 1'000'000}),
       .role = {kUnrecorded, kInNone}},
      {.name = "record-format",
       .group = kTools,
       .help =
           "For --mode prepare: the format of the files in --export-dir. tfrecord is for training, "
           "with meta_data.json for --input-meta-data-path; jsonl holds the same for people. "
           "With --task mlm, jsonl holds the cleaned texts; shards of tokens are written without "
           "this flag.",
       .value = choice_value<RecordFormat>(
           tool(&ToolOptions::prepared, &PreparedFileOptions::format),
           {{"tfrecord", RecordFormat::kTfRecord}, {"jsonl", RecordFormat::kJsonl}}),
       .role = {kUnrecorded, kInNone}},
      {.name = "num-shards",
       .group = kTools,
       .help = "For --mode prepare: how many files to write for each data set.",
       .value = integer_value(tool(&ToolOptions::prepared, &PreparedFileOptions::num_shards),
                              {1, 99'999}),
       .role = {kUnrecorded, kInNone, kNotForTokens}},
      {.name = "compress",
       .group = kTools,
       .help = "For --mode prepare: the compression of the files.",
       .value = choice_value<bool>(tool(&ToolOptions::prepared, &PreparedFileOptions::gzip),
                                   {{"none", false}, {"gzip", true}}),
       .role = {kUnrecorded, kInNone, kNotForTokens}},
      {.name = "tokenizer-type",
       .group = kTools,
       .help = "For --mode train_tokenizer: the algorithm. wordpiece makes a tokenizer like "
               "BERT's, bpe a byte-level one like RoBERTa's, and unigram one like XLM-RoBERTa's.",
       .value = choice_value<TokenizerType>(
           tool(&ToolOptions::tokenizer, &TokenizerTrainingOptions::type),
           {{"wordpiece", TokenizerType::kWordPiece},
            {"bpe", TokenizerType::kBpe},
            {"unigram", TokenizerType::kUnigram}}),
       .role = {kUnrecorded, kInNone}},
      {.name = "vocab-size",
       .group = kTools,
       .help =
           "For --mode train_tokenizer: how many pieces the vocabulary may have, special tokens "
           "included.",
       .value = integer_value(tool(&ToolOptions::tokenizer, &TokenizerTrainingOptions::vocab_size),
                              {0, 10'000'000}),
       .role = {kUnrecorded, kInNone},
       .default_text = "as the original: 30522 for wordpiece, 50265 for bpe, 32000 for unigram"},
      {.name = "min-frequency",
       .group = kTools,
       .help =
           "For --mode train_tokenizer: how often two pieces must occur side by side before they "
           "are merged into one. unigram does not use it.",
       .value = integer_value(
           tool(&ToolOptions::tokenizer, &TokenizerTrainingOptions::min_frequency), {0, kAnyCount}),
       .role = {kUnrecorded, kInNone}},
      {.name = "export-format",
       .group = kTools,
       .help =
           "The format of the exported model. In training, onnx adds model.onnx to the model, for "
           "ONNX Runtime and similar programs. tensorflow adds a checkpoint (bert_model.ckpt) and "
           "bert_config.json. --mode convert writes --model to --export-dir in this format only.",
       .value = export_format(),
       .role = {kDecides, kInTraining}},
      {.name = "export-dtype",
       .group = kTools,
       .help = "The type of the numbers in model.safetensors and model.onnx; an ONNX model "
               "computes in float32 whatever their type is. The default is float32; --mode "
               "convert to safetensors keeps their type by default.",
       .value = choice_value<DType>(
           place(&CommandLine::settings, &Settings::output, &OutputOptions::export_dtype),
           {{"float32", DType::kF32}, {"bfloat16", DType::kBF16}, {"float16", DType::kF16}}),
       .role = {kDecides, kInTraining}},
  };
}

}  // namespace berth
