#include "trainer/inputs/load_model.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "storage/archive.h"
#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/known_keys.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/formats/tfrecord.h"
#include "trainer/model/config_keys.h"
#include "trainer/model/generator.h"
#include "trainer/model/part_names.h"
#include "trainer/text/load_tokenizer.h"
#include "trainer/text/tokenizer.h"
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

// Warns of settings in config.json that berth does not use.
void warn_of_keys(const std::string& config_json, const std::string& name) {
  const Json object = parse_json(config_json);
  const std::vector<std::string> unknown = check_keys(object, config_keys());
  if (!unknown.empty()) {
    log_warning(
        cat(name, " has keys that berth does not know and leaves out: ", listed_keys(unknown)));
  }
  if (object.contains("auto_map") && !object.contains("n_embd")) {
    log_warning(cat(name,
                    " names code of its own for the model (auto_map), which berth does not "
                    "run: it computes what transformers has for this model_type"));
  }
}

// The rules by which earlier versions read the configuration in another way.
void add_rules(const std::string& config_json, const ModelConfig& config,
               std::vector<std::string>& rules) {
  if (config.pad_token_id < 0) rules.emplace_back("pad_token_id is null: all embeddings learn");
  const Json object = parse_json(config_json);
  const bool names_base = object.contains("rope_theta") && !object["rope_theta"].is_null();
  if (config.type == ModelType::kNomicBert && names_base && config.rope_theta != 1000) {
    rules.emplace_back("rope_theta counts");
  }
}

// Warns where two outputs have one name, and where label2id gives a name to another output than
// id2label does.
void warn_of_names(const std::string& config_json, const std::vector<std::string>& labels,
                   const std::string& where) {
  for (auto label = labels.begin(); label != labels.end(); ++label) {
    if (std::find(labels.begin(), label, *label) == label) continue;
    log_warning(cat(where, ": \"id2label\" gives two outputs the name ", quoted(*label),
                    ", and in the data it means the first of them"));
    break;
  }
  const Json ids = parse_json(config_json).value("label2id", Json());
  if (!ids.is_object()) return;
  for (size_t i = 0; i < labels.size(); ++i) {
    const auto id = ids.find(labels[i]);
    if (id == ids.end() || !id->is_number_integer()) continue;
    const auto number = id->get<int64_t>();
    const bool is_same = number >= 0 && number < std::ssize(labels) &&
                         labels[static_cast<size_t>(number)] == labels[i];
    if (is_same) continue;
    log_warning(cat(where, ": \"label2id\" gives ", quoted(labels[i]), " the number ", number,
                    ", and \"id2label\" ", i, "; \"id2label\" counts"));
    break;
  }
}

// The last layer of the config's head, if the classes decide its shape.
std::string classifier_of(const ModelConfig& config) {
  switch (traits(config.task).rows) {
    case HeadRows::kSequences:
      return sequence_head_names(config).classifier;
    case HeadRows::kTokens:
      return token_head_name(config);
    default:
      return "";
  }
}

// The class with a head that saved the model: "BertForMultipleChoice". "" where it names an encoder
// or none.
std::string saved_class(const ModelConfig& config) {
  const Json source = parse_json(config.source_json);
  if (!source.is_object() || !source.contains("architectures")) return "";
  const Json& names = source["architectures"];
  const bool has_name = names.is_array() && !names.empty() && names.front().is_string();
  const std::string name = has_name ? names.front().get<std::string>() : "";
  return name.ends_with("Model") ? "" : name;
}

// Throws where the model's regression has several outputs.
void require_one_score(const ModelConfig& config, const std::string& file) {
  const bool has_score = config.task == Task::kRegression || ranks_passages(config.task);
  if (!has_score || config.source_json.empty()) return;
  const ModelConfig source = parse_config(config.source_json);
  if (source.saved_task != Task::kRegression || source.labels.size() <= 1) return;
  throw Error(Code::kBadData,
              cat("the model's regression has ", source.labels.size(),
                  " outputs (problem_type, num_labels), and berth's has one"),
              file, "give a model whose num_labels is 1");
}

// Throws where the model tells classes of texts with one output, which is always the likeliest one.
void require_classes(const ModelConfig& config, const std::string& file) {
  const TaskTraits& row = traits(config.task);
  const bool is_choice = row.rows == HeadRows::kSequences && row.labels == LabelKind::kClass;
  if (!is_choice || config.labels.size() != 1) return;
  throw Error(Code::kBadData,
              cat("the model has one output, ", quoted(config.labels.front()),
                  ", so it would give all texts this one class"),
              file,
              "if it gives scores, its problem_type is regression (--task regression); if it says "
              "whether texts have this label, multi_label_classification (--task multi_label)");
}

TensorRules tensor_rules(const ModelConfig& config, const ModelOptions& options) {
  TensorRules rules{.classifier = classifier_of(config),
                    .ignores_mismatched_sizes = options.ignores_mismatched_sizes};
  if (rules.classifier.empty() || config.source_json.empty()) return rules;
  const std::optional<Task>& saved = config.saved_task;
  if (!saved) {  // a class with a head that no task of berth has
    rules.classifier_is_new = !saved_class(config).empty();
    return rules;
  }
  // A cross-encoder is saved as a regression.
  const bool goes_on_ranking = *saved == Task::kRegression && ranks_passages(config.task);
  if (*saved == config.task || goes_on_ranking) return rules;
  // Files of classifiers with several labels may not say so; the same names mean the same head
  // then.
  const Json source = parse_json(config.source_json);
  const bool names_problem = source.contains("problem_type") && !source["problem_type"].is_null();
  const bool same_rows = traits(*saved).rows == traits(config.task).rows &&
                         traits(*saved).has_classes && traits(config.task).has_classes;
  const std::vector<std::string> own = parse_config(config.source_json).labels;
  const bool is_open = same_rows && !names_problem;
  const bool same_labels = own == config.labels || in_order_of(own, config.labels) == config.labels;
  rules.classifier_is_new = !(is_open && same_labels);
  if (is_open && !rules.classifier_is_new) {
    log_info(
        cat("config.json does not say whether texts have one label or several "
            "(problem_type): the model's head is used for ",
            task_name(config.task)));
  }
  return rules;
}

// Whether the config's head predicts masked tokens by the word embeddings.
bool is_tied(const ModelConfig& config) {
  const HeadRows rows = traits(config.task).rows;
  const bool decodes = rows == HeadRows::kMasked || rows == HeadRows::kMaskedAndFirst;
  return decodes && config.ties_word_embeddings;
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
  add_rules(config_json, model.config, model.tokenizer_rules);
  warn_of_keys(config_json, config_name);
  warn_of_names(config_json, model.config.labels, config_name);
  try {
    model.tokenizer =
        load_tokenizer([&](std::string_view name) { return folder.text(name); },
                       {.do_lower_case = options.do_lower_case}, &model.tokenizer_rules);
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
  // Vocabularies are padded to multiples of 128 at most.
  const int64_t pieces = model.tokenizer->vocab_size();
  const int64_t unused = model.config.vocab_size - pieces;
  if (pieces > 0 && (unused >= 128 || unused * 8 > model.config.vocab_size)) {
    log_warning(cat("the tokenizer has ", pieces, " pieces, but the model's vocabulary ",
                    model.config.vocab_size,
                    ": if the two do not belong together, the ids mean other words"));
  }
  if (data.max_seq_length > model.config.max_sequence_length()) {
    throw Error(Code::kUsage,
                cat(data.max_seq_length, " is more than the ", model.config.max_sequence_length(),
                    " positions of ", folder.name()),
                "--max-seq-length", cat("give ", model.config.max_sequence_length(), " or less"));
  }
  return model;
}

void use_sentence_files(ModelFolder& folder, const ModelOptions& options, SentenceFiles files,
                        ModelDescription& model) {
  if (files.lowers_case) {
    model.tokenizer =
        load_tokenizer([&](std::string_view name) { return folder.text(name); },
                       {.do_lower_case = options.do_lower_case, .lowers_first = true});
    model.tokenizer_rules.emplace_back("do_lower_case of sentence_bert_config.json counts");
  }
  model.sentences = std::move(files);
}

std::vector<std::string> choose_labels(const ModelConfig& config,
                                       const std::vector<std::string>& data_labels) {
  const std::vector<std::string>& own = config.labels;
  if (own.empty() || are_placeholders(own)) return data_labels;
  const bool covers = std::all_of(data_labels.begin(), data_labels.end(), [&](const auto& label) {
    return std::find(own.begin(), own.end(), label) != own.end();
  });
  if (covers) return own;
  if (const auto ordered = in_order_of(own, data_labels)) {
    log_info(
        "the model's labels have the data's names but for capital letters: each output keeps its "
        "label, in the data's spelling");
    return *ordered;
  }
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

void resolve_decoder(ModelFolder& folder, const ModelOptions& options, ModelConfig& config,
                     std::vector<std::string>& rules) {
  if (!is_tied(config) || options.init == Init::kRandom) return;
  const ModelParameters* found = folder.peek_parameters();
  if (found == nullptr) return;
  OwnDecoder own;
  try {
    own = find_own_decoder(*found->tensors, parameter_table(config), masked_lm_head_names(config));
  } catch (const Error& error) {
    throw error.at(found->file);
  }
  if (own.weight) {
    config.ties_word_embeddings = false;
    rules.emplace_back(kOwnDecoderRule);
    log_warning(cat(found->file,
                    " has a decoder that differs from the word embeddings, although the "
                    "configuration ties them (tie_word_embeddings). The decoder counts, as in "
                    "transformers 5; transformers 4 leaves it out"));
  }
  if (own.bias) {
    if (!own.weight) rules.emplace_back("a decoder's bias of the model's file counts");
    log_warning(cat(found->file,
                    " has a bias of the decoder that differs from the head's bias. The decoder's "
                    "counts, as in transformers 5; transformers 4 takes the other one"));
  }
}

void warn_of_adapter_base(ModelFolder& folder, const ModelOptions& options,
                          const ModelConfig& config) {
  const bool is_new = options.init == Init::kRandom;
  const ModelParameters* const found = is_new ? nullptr : folder.peek_parameters();
  if (found == nullptr) return;
  try {
    const RenamedTensors plain(*found->tensors, parameter_table(config), NamesAs::kInFile);
    if (!plain.has_wrappers() && plain.left_out().empty()) return;
  } catch (const Error&) {
    return;  // load_parameters() says it
  }
  log_warning(cat("PEFT cannot load the adapter onto ", found->file,
                  ", because the names of its tensors have prefixes or wrappers. Train with a copy "
                  "that --mode convert makes of this model"));
}

namespace {

// Takes the parameters of a Dense module from its own file.
void fill_dense_module(ModelFolder& folder, const ModelConfig& config, size_t place, int threads,
                       ParameterTensors& values) {
  const DenseModule& module = config.dense_modules[place];
  const std::optional<ModelParameters> found = folder.module_parameters(module.folder);
  if (!found) {
    throw Error(Code::kNotFound, "no model.safetensors or pytorch_model.bin",
                cat(folder.name(), "/", module.folder), "fetch all files of the model");
  }
  std::vector<TensorUpload> uploads;
  for (const std::string_view part : {".weight", ".bias"}) {
    const std::string name = cat("linear", part), own = cat(dense_module_name(place), part);
    const auto spec = std::ranges::find(values.specs(), own, &ParameterSpec::name);
    if (spec == values.specs().end()) continue;  // the module has no bias
    const NamedTensor* const tensor = found->tensors->find(name);
    if (tensor == nullptr || tensor->shape != spec->shape) {
      throw Error(Code::kBadData,
                  cat("holds no tensor ", quoted(name), " of the shape that config.json says"),
                  found->file);
    }
    uploads.push_back(
        {.source = *tensor, .parameter = static_cast<size_t>(spec - values.specs().begin())});
  }
  if (found->tensors->tensors().size() > uploads.size()) {
    throw Error(Code::kBadData,
                cat("holds ", counted(found->tensors->tensors().size(), "tensor"),
                    ", and the module of config.json has ", uploads.size()),
                found->file, "give the config.json that belongs to the file (\"bias\")");
  }
  upload_tensors(*found->tensors, uploads, values, threads);
  found->verify();
}

// Tells which prefix was taken off, and which tensors of the file were left out.
void tell_left_out(const LoadReport& report, const std::string& file) {
  if (!report.prefix.empty()) {
    const size_t others = report.without_prefix.size();
    log_info(cat(others == 0 ? "all tensors of " : "the model's tensors in ", file, " are named ",
                 quoted(report.prefix + "..."), "; the prefix was taken off"));
    if (others > 0) {
      log_warning(cat(file, ": ", counted(others, "tensor"), " without the prefix ",
                      quoted(report.prefix), " ", others == 1 ? "is" : "are", " left out (",
                      report.without_prefix.front(), others > 1 ? ", ..." : "", ")"));
    }
  }
  if (const auto& others = report.beside_encoder; !others.empty()) {
    log_warning(cat(
        file, ": ", counted(others.size(), "tensor"), others.size() == 1 ? " belongs" : " belong",
        " neither to the model nor to its head, and ", others.size() == 1 ? "is" : "are",
        " left out (", joined_first(others, 3), ")"));
  }
}

}  // namespace

void fill_parameters(ModelFolder& folder, const ModelOptions& options, const ModelConfig& config,
                     uint64_t seed, int threads, ParameterTensors& values, HeadNeed head) {
  if (options.init == Init::kRandom) {
    initialize(values, config.initializer_range, seed, threads);
    return;
  }
  const std::optional<ModelParameters> found = folder.parameters();
  if (!found) {
    throw folder.missing_parameters();
  }
  TensorRules rules = tensor_rules(config, options);
  const MaskedLmHeadNames head_names = masked_lm_head_names(config);
  if (is_tied(config)) rules.tied = &head_names;
  if (head == HeadNeed::kRequired) {
    rules.classifier.clear();
    require_one_score(config, found->file);
    require_classes(config, found->file);
  }
  LoadReport report;
  try {
    if (config.rotary_turns_neighbours) require_sines(*found->tensors, config.head_size());
    report = load_parameters(*found->tensors, values, threads, rules);
  } catch (const Error& error) {
    throw error.at(found->file);
  }
  tell_left_out(report, found->file);
  if (report.left_out_classifier) {
    log_info(rules.classifier_is_new
                 ? cat("the model was fine-tuned for ",
                       config.saved_task ? task_name(*config.saved_task) : saved_class(config),
                       ": the head of ", task_name(config.task), " is new")
                 : cat("the model was fine-tuned for another number of classes: the head is new"));
  }
  if (!report.ignored.empty()) {
    log_info(cat("not used by the model: ", counted(report.ignored.size(), "tensor"), " of ",
                 folder.name(), " (", report.ignored.front(),
                 report.ignored.size() > 1 ? ", ..." : "", ")"));
  }
  std::erase_if(report.missing,
                [&](size_t index) { return values.specs()[index].name.starts_with(kDensePrefix); });
  for (size_t i = 0; i < config.dense_modules.size(); ++i) {
    fill_dense_module(folder, config, i, threads, values);
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
                  are_vectors(traits(config.task).labels)
                      ? "a job that learned from a teacher saves its encoder alone: --mode embed "
                        "reads it, and --eval-retrieval scores it"
                      : "give a model that was fine-tuned");
    }
    log_info("initialised at random, as the model file has none: " + names);
  }
  initialize(values, report.missing, config.initializer_range, seed, threads);
}

}  // namespace berth
