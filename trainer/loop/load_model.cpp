#include "trainer/loop/load_model.h"

#include <algorithm>

#include "storage/archive.h"
#include "storage/base/counted.h"
#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/formats/tfrecord.h"
#include "trainer/model/generator_config.h"
#include "trainer/text/load_tokenizer.h"
#include "trainer/text/no_tokenizer.h"
#include "trainer/weights/initial_values.h"
#include "trainer/weights/pretrained.h"

namespace berth {
namespace {

// Warns that a trained head gets other labels. Both have the same number of labels.
void warn_of_new_labels(const std::vector<std::string>& own,
                        const std::vector<std::string>& replaced) {
  if (own.size() != replaced.size() || are_placeholders(own)) return;
  log_warning("the model's labels are not the data's; the data's names replace them, by position");
}

}  // namespace

bool are_placeholders(const std::vector<std::string>& labels) {
  for (size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] != "LABEL_" + std::to_string(i)) return false;
  }
  return true;
}

bool needs_tokenizer(const DataOptions& data) {
  const auto is_of_texts = [](const std::string& path) {
    return !path.empty() && !names_records(without_compression_suffix(last_part(path)));
  };
  const bool names_any = !data.train_data_file.empty() || !data.eval_data_file.empty() ||
                         !data.predict_data_file.empty();
  return !names_any || is_of_texts(data.train_data_file) || is_of_texts(data.eval_data_file) ||
         is_of_texts(data.predict_data_file);
}

ModelDescription describe_model(ModelFolder& folder, const ModelOptions& options,
                                const DataOptions& data) {
  ModelDescription model;
  const std::string config_json = folder.config_json();
  const std::string config_name =
      options.model_config.empty() ? folder.name() + ": its configuration" : options.model_config;
  try {
    model.config = parse_config(config_json);
  } catch (const Error& error) {
    throw error.at(config_name);
  }
  try {
    model.tokenizer = load_tokenizer([&](std::string_view name) { return folder.text(name); },
                                     {.do_lower_case = options.do_lower_case});
  } catch (const Error& error) {
    const Error named = error.at(options.vocab_file.empty() ? folder.name() : options.vocab_file);
    if (error.code() != Code::kNotFound || needs_tokenizer(data)) throw named;
    model.tokenizer = std::make_unique<NoTokenizer>(named);
  }
  if (model.tokenizer->vocab_size() > model.config.vocab_size) {
    throw Error(Code::kUsage,
                cat("the vocabulary has ", model.tokenizer->vocab_size(),
                    " pieces, but the configuration's vocab_size is ", model.config.vocab_size),
                config_name, "use the vocab.txt that belongs to the model");
  }
  if (data.max_seq_length > model.config.max_sequence_length()) {
    throw Error(Code::kUsage,
                cat("--max-seq-length ", data.max_seq_length, " exceeds the model's ",
                    model.config.max_sequence_length(), " positions"),
                config_name);
  }
  return model;
}

std::vector<std::string> choose_labels(const ModelConfig& config,
                                       const std::vector<std::string>& data_labels) {
  const std::vector<std::string>& own = config.labels;
  if (own.empty() || are_placeholders(own)) return data_labels;
  const bool covers = std::all_of(data_labels.begin(), data_labels.end(), [&](const auto& label) {
    return std::find(own.begin(), own.end(), label) != own.end();
  });
  if (covers) return own;
  warn_of_new_labels(own, data_labels);
  return data_labels;
}

std::optional<std::vector<std::string>> in_order_of(const std::vector<std::string>& labels,
                                                    const std::vector<std::string>& known) {
  if (labels.size() != known.size()) return std::nullopt;
  std::vector<std::string> ordered;
  for (const std::string& label : labels) {
    const auto found = std::find_if(known.begin(), known.end(), [&](const std::string& name) {
      return lower_ascii(name) == lower_ascii(label);
    });
    if (found == known.end()) return std::nullopt;
    if (std::find(ordered.begin(), ordered.end(), *found) != ordered.end()) return std::nullopt;
    ordered.push_back(*found);
  }
  return ordered;
}

std::vector<std::string> order_labels(const ModelConfig& config,
                                      const std::vector<std::string>& known) {
  if (const auto ordered = in_order_of(config.labels, known)) return *ordered;
  warn_of_new_labels(config.labels, known);
  return known;
}

std::vector<std::string> evaluation_labels(const ModelConfig& config) {
  if (!are_placeholders(config.labels)) return config.labels;
  std::vector<std::string> numbers;
  for (size_t i = 0; i < config.labels.size(); ++i) numbers.push_back(std::to_string(i));
  return numbers;
}

void fill_parameters(ModelFolder& folder, const ModelOptions& options, const ModelConfig& config,
                     uint64_t seed, int threads, ParameterTensors& values, HeadNeed head) {
  if (options.init == Init::kRandom) {
    initialize(values, config.initializer_range, seed, threads);
    return;
  }
  const std::optional<ModelParameters> found = folder.parameters();
  if (!found) {
    throw Error(Code::kNotFound, "no model.safetensors or pytorch_model.bin", folder.name(),
                "pass --init random to train from scratch");
  }
  LoadReport report;
  try {
    report = load_parameters(*found->tensors, values, threads);
  } catch (const Error& error) {
    throw error.at(found->file);
  }
  if (!report.ignored.empty()) {
    log_info(cat("not used by the model: ", counted(report.ignored.size(), "tensor"), " of ",
                 folder.name(), " (", report.ignored.front(),
                 report.ignored.size() > 1 ? ", ..." : "", ")"));
  }
  std::string names;  // without adapters and a generator, which are in no model's file
  for (const size_t index : report.missing) {
    const ParameterSpec& spec = values.specs()[index];
    const bool is_of_generator = spec.name.starts_with(kGeneratorPrefix);
    if (!spec.is_adapter && !is_of_generator) names += (names.empty() ? "" : ", ") + spec.name;
  }
  if (!names.empty()) {
    if (head == HeadNeed::kRequired) {
      throw Error(Code::kBadData, "the head's parameters are missing: " + names, found->file,
                  "give a model that was fine-tuned");
    }
    log_info("initialised at random, as the model file has none: " + names);
  }
  initialize(values, report.missing, config.initializer_range, seed, threads);
}

}  // namespace berth
