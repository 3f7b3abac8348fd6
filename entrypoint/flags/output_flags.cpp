#include "entrypoint/flags/flag_table.h"
#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {

std::vector<Flag> output_flags() {
  using enum Effect;
  return {
      {"job-dir, model-dir, output-dir",
       "The job directory, for checkpoints, summaries and the finished model. The same command "
       "resumes an interrupted job there.",
       path_value("DIR", output_option(&OutputOptions::job_dir)),
       FlagRole(kFree, kEverywhere | kInExport | kInTrainTokenizer | kInHeartbeat,
                kOwnToWorker | kNoHparam | kWrittenTo)
           .needed_as(kNeedsJobDir),
       "the parent of AIP_MODEL_DIR, if set"},
      {"reuse-job-dir",
       "Resume in a job directory that was used before. With --no-reuse-job-dir that is an error.",
       switch_value(output_option(&OutputOptions::reuse_job_dir)),
       {kFree, kInTraining}},
      {"export-dir, model-export-path", "The directory for the finished model.",
       path_value("DIR", output_option(&OutputOptions::export_dir)),
       FlagRole(kFree,
                kInTraining | kInExport | kInPrepare | kInConvert | kInTrainTokenizer | kInFetch,
                kOwnToWorker | kNoHparam | kWrittenTo)
           .needed_as(kNeedsExportDir),
       "AIP_MODEL_DIR or JOB_DIR/model"},
      {"report",
       "Write JOB_DIR/report.html, a page with the job's curves and results, at each evaluation, "
       "at each checkpoint and at the end.",
       switch_value(output_option(&OutputOptions::report)),
       {kFree, kInTraining}},
      {"predictions-file, predict-output-file",
       "For --mode predict and embed: the file for the predictions or embeddings, local or gs://, "
       "or - for standard output.",
       path_value("FILE", place(&CommandLine::tool, &ToolOptions::predictions_file)),
       {kUnrecorded, kInPredict | kInEmbed | kInMine, kRefusedElsewhere},
       "JOB_DIR/predictions.tsv or JOB_DIR/embeddings.npy; without --job-dir, standard output"},
      {"predictions-with-text",
       "For --mode predict: add the texts of the row, or the word, to each line.",
       switch_value(place(&CommandLine::tool, &ToolOptions::predictions_with_text)),
       {kUnrecorded, kInPredict, kRefusedElsewhere}},
      {"predictions-safe-for-spreadsheets",
       "For --mode predict: put an apostrophe before a text that begins with =, +, - or @, so "
       "that a spreadsheet does not compute it.",
       switch_value(place(&CommandLine::tool, &ToolOptions::predictions_safe_for_spreadsheets)),
       {kUnrecorded, kInPredict, kRefusedElsewhere}},
      {"checkpoint-dir",
       "The directory for checkpoints.",
       path_value("DIR", output_option(&OutputOptions::checkpoint_dir)),
       {kFree, kInTraining | kInExport, kOwnToWorker | kNoHparam | kWrittenTo},
       "AIP_CHECKPOINT_DIR or JOB_DIR/checkpoints"},
      {"summary-dir, logging-dir",
       "The directory for TensorBoard summaries.",
       path_value("DIR", output_option(&OutputOptions::summary_dir)),
       {kFree, kInTraining, kOwnToWorker | kNoHparam | kWrittenTo},
       "AIP_TENSORBOARD_LOG_DIR or JOB_DIR/summaries"},
      {"logging-steps, log-steps",
       "Log the loss after every N updates.",
       integer_value(training_option(&TrainingOptions::logging_steps), {1, kAnyCount}),
       {kFree, kInTraining}},
      {"row-preview",
       "Show three rows as the model takes them at the start of the log, in --dry-run and in the "
       "report: their texts, tokens and labels, and what is cut. With --no-row-preview no text of "
       "the training data gets there.",
       switch_value(place(&CommandLine::row_preview)),
       {kUnrecorded, kInTraining},
       "true"},
      {"log-histograms",
       "Write a histogram of each parameter that trains to the TensorBoard summaries, at each "
       "evaluation.",
       switch_value(place(&CommandLine::log_histograms)),
       {kUnrecorded, kInTraining}},
      {"log-format",
       "The format of progress and messages on standard error. auto means text with a progress "
       "bar on a terminal, and one JSON object a line elsewhere.",
       choice_value<std::string>(place(&CommandLine::log_format),
                                 {{"auto", "auto"}, {"text", "text"}, {"json", "json"}}),
       {kUnrecorded, kInEachMode}},
      {"log-level",
       "The least severe messages to show.",
       choice_value<LogLevel>(place(&CommandLine::log_level), {{"error", LogLevel::kError},
                                                               {"warning", LogLevel::kWarning},
                                                               {"info", LogLevel::kInfo},
                                                               {"debug", LogLevel::kDebug}}),
       {kUnrecorded, kInEachMode}},
  };
}

namespace {

constexpr RealRange kSeconds{0, 1e6, false, true, "a number of seconds above 0"};

auto storage(auto... members) { return place(&CommandLine::storage, members...); }

}  // namespace

std::vector<Flag> storage_flags() {
  using enum Effect;
  return {
      {"cache-dir",
       "Cache files from gs:// and https:// in this directory, by version and checksum. A "
       "restarted job then does not fetch them again. Compiled programs for a TPU or GPU are "
       "cached there, too. Only users who may run this program should be able to write to it.",
       path_value("DIR", storage(&StorageOptions::cache_dir)),
       {kUnrecorded, kInEachMode},
       "no cache"},
      {"anonymous",
       "Read public gs:// objects without credentials, instead of with Application Default "
       "Credentials.",
       switch_value(storage(&StorageOptions::anonymous)),
       {kUnrecorded, kInEachMode}},
      {"user-project, billing-project",
       "The project of Google Cloud that is billed for requests to gs:// (userProject). A bucket "
       "with requester pays needs it.",
       text_value("NAME", storage(&StorageOptions::user_project)),
       {kUnrecorded, kInEachMode},
       "the bucket's own"},
      {"parallel-uploads",
       "Upload large gs:// objects as parts of 8 MiB, which storage then joins and deletes. "
       "Switch this off for a bucket whose objects may not be deleted, or not early.",
       switch_value(storage(&StorageOptions::transfer, &TransferOptions::joins_parts)),
       {kUnrecorded, kInEachMode}},
      {"storage-endpoint",
       "Another address of Google Cloud Storage; credentials are sent to it. An emulator is named "
       "by STORAGE_EMULATOR_HOST instead.",
       text_value("URL", storage(&StorageOptions::endpoint)),
       {kUnrecorded, kInEachMode},
       "Google's"},
      {"storage-retry-deadline",
       "Give up a transfer after this many seconds without any progress.",
       real_value(storage(&StorageOptions::retry, &RetryOptions::deadline_s), kSeconds),
       {kUnrecorded, kInEachMode}},
      {"storage-stall-timeout",
       "Drop a connection and try again after this many seconds of silence.",
       real_value(storage(&StorageOptions::http, &HttpClientOptions::stall_timeout_s), kSeconds),
       {kUnrecorded, kInEachMode}},
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
  return {
      {"input",
       "For --mode inspect: the model, checkpoint, data or event file to look into. For --mode "
       "fetch: the file, pattern, folder or archive to copy to --export-dir. For either, several "
       "may also stand at the end of the command. For --mode tokenize: a file with one text a "
       "line, or a .jsonl file with the keys text and text_pair; - is standard input. For --mode "
       "report: a job directory, and further ones at the end of the command.",
       path_value("FILE", tool(&ToolOptions::input)),
       {kUnrecorded, kInInspect | kInFetch | kInTokenize | kInReport}},
      {"text",
       "For --mode tokenize: the text to tokenize, instead of --input.",
       given_text(),
       {kUnrecorded, kInTokenize}},
      {"add-special-tokens",
       "For --mode tokenize: add the special tokens, such as [CLS] and [SEP].",
       switch_value(tool(&ToolOptions::add_special_tokens)),
       {kUnrecorded, kInTokenize}},
      {"json",
       "For --mode inspect: print one JSON object for each file instead of lines for people.",
       switch_value(tool(&ToolOptions::json)),
       {kUnrecorded, kInInspect}},
      {"report-file",
       "For --mode report: the page to write, local or gs://, or - for standard output.",
       path_value("FILE", tool(&ToolOptions::report_file)),
       {kUnrecorded, kInReport}},
      {"max-age",
       "For --mode heartbeat: how many seconds a training may give no sign of life.",
       integer_value(tool(&ToolOptions::max_age_s), {1, 1'000'000}),
       {kUnrecorded, kInHeartbeat}},
      {"record-format",
       "For --mode prepare: the format of the files in --export-dir. tfrecord is for training, "
       "with meta_data.json for --input-meta-data-path; jsonl holds the same for people. With "
       "--task mlm, jsonl holds the cleaned texts; shards of tokens are written without this flag.",
       choice_value<RecordFormat>(
           tool(&ToolOptions::prepared, &PreparedFileOptions::format),
           {{"tfrecord", RecordFormat::kTfRecord}, {"jsonl", RecordFormat::kJsonl}}),
       {kUnrecorded, kInPrepare}},
      {"num-shards",
       "For --mode prepare: how many files to write for each data set.",
       integer_value(tool(&ToolOptions::prepared, &PreparedFileOptions::num_shards), {1, 99'999}),
       {kUnrecorded, kInPrepare, kNotForTokens}},
      {"compress",
       "For --mode prepare: the compression of the files.",
       choice_value<bool>(tool(&ToolOptions::prepared, &PreparedFileOptions::gzip),
                          {{"none", false}, {"gzip", true}}),
       {kUnrecorded, kInPrepare, kNotForTokens}},
      {"tokenizer-type",
       "For --mode train_tokenizer: the algorithm. wordpiece makes a tokenizer like BERT's, bpe a "
       "byte-level one like RoBERTa's, and unigram one like XLM-RoBERTa's.",
       choice_value<TokenizerType>(tool(&ToolOptions::tokenizer, &TokenizerTrainingOptions::type),
                                   {{"wordpiece", TokenizerType::kWordPiece},
                                    {"bpe", TokenizerType::kBpe},
                                    {"unigram", TokenizerType::kUnigram}}),
       {kUnrecorded, kInTrainTokenizer}},
      {"vocab-size",
       "For --mode train_tokenizer: how many pieces the vocabulary may have, special tokens "
       "included.",
       integer_value(tool(&ToolOptions::tokenizer, &TokenizerTrainingOptions::vocab_size),
                     {0, 10'000'000}),
       {kUnrecorded, kInTrainTokenizer},
       "as the original: 30522 for wordpiece, 50265 for bpe, 32000 for unigram"},
      {"min-frequency",
       "For --mode train_tokenizer: how often two pieces must occur side by side before they are "
       "merged into one. unigram does not use it.",
       integer_value(tool(&ToolOptions::tokenizer, &TokenizerTrainingOptions::min_frequency),
                     {0, kAnyCount}),
       {kUnrecorded, kInTrainTokenizer}},
      {"export-format",
       "The format of the exported model. In training, onnx adds model.onnx to the model, for "
       "ONNX Runtime and similar programs. tensorflow adds a checkpoint (bert_model.ckpt) and "
       "bert_config.json. --mode convert writes --model to --export-dir in this format only.",
       export_format(),
       {kDecides, kInTraining | kInExport | kInConvert}},
      {"export-dtype",
       "The type of the numbers in model.safetensors and model.onnx; an ONNX model computes in "
       "float32 whatever their type is. The default is float32; --mode convert to safetensors "
       "keeps their type by default.",
       choice_value<DType>(
           place(&CommandLine::settings, &Settings::output, &OutputOptions::export_dtype),
           {{"float32", DType::kF32}, {"bfloat16", DType::kBF16}, {"float16", DType::kF16}}),
       {kDecides, kInTraining | kInExport | kInConvert}},
  };
}

}  // namespace berth
