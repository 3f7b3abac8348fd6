#include "entrypoint/flags/flag_table.h"
#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
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
       .aliases = {},
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
       .aliases = {},
       .group = kTools,
       .help = "For --mode tokenize: the text to tokenize, instead of --input.",
       .value = given_text(),
       .role = {kUnrecorded, kInNone}},
      {.name = "add-special-tokens",
       .aliases = {},
       .group = kTools,
       .help = "For --mode tokenize: add the special tokens, such as [CLS] and [SEP].",
       .value = switch_value(tool(&ToolOptions::add_special_tokens)),
       .role = {kUnrecorded, kInNone}},
      {.name = "json",
       .aliases = {},
       .group = kTools,
       .help =
           "For --mode inspect: print one JSON object for each file instead of lines for people.",
       .value = switch_value(tool(&ToolOptions::json)),
       .role = {kUnrecorded, kInNone}},
      {.name = "report-file",
       .aliases = {},
       .group = kTools,
       .help = "For --mode report: the page to write, local or gs://, or - for standard output.",
       .value = path_value("FILE", tool(&ToolOptions::report_file)),
       .role = {kUnrecorded, kInNone}},
      {.name = "max-age",
       .aliases = {},
       .group = kTools,
       .help = "For --mode heartbeat: how many seconds a training may give no sign of life.",
       .value = integer_value(tool(&ToolOptions::max_age_s), {1, 1'000'000}),
       .role = {kUnrecorded, kInNone}},
      {.name = "record-format",
       .aliases = {},
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
       .aliases = {},
       .group = kTools,
       .help = "For --mode prepare: how many files to write for each data set.",
       .value = integer_value(tool(&ToolOptions::prepared, &PreparedFileOptions::num_shards),
                              {1, 99'999}),
       .role = {kUnrecorded, kInNone}},
      {.name = "compress",
       .aliases = {},
       .group = kTools,
       .help = "For --mode prepare: the compression of the files.",
       .value = choice_value<bool>(tool(&ToolOptions::prepared, &PreparedFileOptions::gzip),
                                   {{"none", false}, {"gzip", true}}),
       .role = {kUnrecorded, kInNone}},
      {.name = "tokenizer-type",
       .aliases = {},
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
       .aliases = {},
       .group = kTools,
       .help =
           "For --mode train_tokenizer: how many pieces the vocabulary may have, special tokens "
           "included.",
       .value = integer_value(tool(&ToolOptions::tokenizer, &TokenizerTrainingOptions::vocab_size),
                              {0, 10'000'000}),
       .role = {kUnrecorded, kInNone},
       .default_text = "as the original: 30522 for wordpiece, 50265 for bpe, 32000 for unigram"},
      {.name = "min-frequency",
       .aliases = {},
       .group = kTools,
       .help =
           "For --mode train_tokenizer: how often two pieces must occur side by side before they "
           "are merged into one. unigram does not use it.",
       .value = integer_value(
           tool(&ToolOptions::tokenizer, &TokenizerTrainingOptions::min_frequency), {0, kAnyCount}),
       .role = {kUnrecorded, kInNone}},
      {.name = "export-format",
       .aliases = {},
       .group = kTools,
       .help =
           "The format of the exported model. In training, onnx adds model.onnx to the model, for "
           "ONNX Runtime and similar programs. tensorflow adds a checkpoint (bert_model.ckpt) and "
           "bert_config.json. --mode convert writes --model to --export-dir in this format only.",
       .value = export_format(),
       .role = {kDecides, kInTraining}},
      {.name = "export-dtype",
       .aliases = {},
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
