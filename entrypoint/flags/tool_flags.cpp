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

// A SavedModel holds a graph that TensorFlow runs; there is none here.
FlagValue export_format() {
  FlagValue value = choice_value<ExportFormat>(
      place(&CommandLine::settings, &Settings::output, &OutputOptions::export_format),
      {{"safetensors", ExportFormat::kSafetensors}, {"tensorflow", ExportFormat::kTensorflow}});
  value.set = [choose = value.set](CommandLine& line, std::string_view given) {
    std::string wanted = lower_ascii(given);
    std::erase(wanted, '_');
    if (wanted != "savedmodel") return choose(line, given);
    throw Error(Code::kUsage, "TensorFlow's SavedModel is not written", "",
                "use tensorflow (a checkpoint), safetensors, or --mode predict");
  };
  return value;
}

}  // namespace

std::vector<Flag> tool_flags() {
  using enum FlagGroup;
  return {
      {.name = "input",
       .aliases = {},
       .group = kTools,
       .help = "For --mode inspect the model, checkpoint, data or event file to look into (or the "
               "last argument). For --mode tokenize a file of texts, one a line, or .jsonl with "
               "text and text_pair; - is standard input.",
       .value = text_value("FILE", tool(&ToolOptions::input)),
       .in_settings = false},
      {.name = "text",
       .aliases = {},
       .group = kTools,
       .help = "For --mode tokenize: this one text.",
       .value = given_text(),
       .in_settings = false},
      {.name = "add-special-tokens",
       .aliases = {},
       .group = kTools,
       .help = "For --mode tokenize: [CLS], [SEP] and their like, too.",
       .value = switch_value(tool(&ToolOptions::add_special_tokens)),
       .in_settings = false},
      {.name = "json",
       .aliases = {},
       .group = kTools,
       .help = "For --mode inspect: one JSON object instead of lines for people.",
       .value = switch_value(tool(&ToolOptions::json)),
       .in_settings = false},
      {.name = "record-format",
       .aliases = {},
       .group = kTools,
       .help = "What --mode prepare writes to --export-dir: tfrecord, with meta_data.json for "
               "--input-meta-data-path, or the same as jsonl, for people.",
       .value = choice_value<RecordFormat>(
           tool(&ToolOptions::prepared, &PreparedFileOptions::format),
           {{"tfrecord", RecordFormat::kTfRecord}, {"jsonl", RecordFormat::kJsonl}}),
       .in_settings = false},
      {.name = "num-shards",
       .aliases = {},
       .group = kTools,
       .help = "For --mode prepare: files for each data set.",
       .value = integer_value(tool(&ToolOptions::prepared, &PreparedFileOptions::num_shards),
                              {1, 99'999}),
       .in_settings = false},
      {.name = "compress",
       .aliases = {},
       .group = kTools,
       .help = "For --mode prepare: the files' compression.",
       .value = choice_value<bool>(tool(&ToolOptions::prepared, &PreparedFileOptions::gzip),
                                   {{"none", false}, {"gzip", true}}),
       .in_settings = false},
      {.name = "export-format",
       .aliases = {},
       .group = kTools,
       .help = "How the finished model is written, or --mode convert writes --model to "
               "--export-dir: tensorflow adds a checkpoint (bert_model.ckpt) and "
               "bert_config.json.",
       .value = export_format()},
      {.name = "export-dtype",
       .aliases = {},
       .group = kTools,
       .help = "The type of the numbers in model.safetensors; the default is float32, or as they "
               "were for --mode convert.",
       .value = choice_value<DType>(
           place(&CommandLine::settings, &Settings::output, &OutputOptions::export_dtype),
           {{"float32", DType::kF32}, {"bfloat16", DType::kBF16}, {"float16", DType::kF16}})},
  };
}

}  // namespace berth
