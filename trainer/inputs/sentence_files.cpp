#include "trainer/inputs/sentence_files.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/whole_file.h"
#include "trainer/model/part_names.h"
#include "trainer/weights/write_tensors.h"

namespace berth {
namespace {

// The names that the file with max_seq_length has had. sentence-transformers reads the first one,
// in this order.
constexpr std::array<const char*, 7> kLengthFiles = {
    "sentence_bert_config.json",       "sentence_roberta_config.json",
    "sentence_distilbert_config.json", "sentence_camembert_config.json",
    "sentence_albert_config.json",     "sentence_xlm-roberta_config.json",
    "sentence_xlnet_config.json"};

constexpr const char* kPromptFile = "config_sentence_transformers.json";

constexpr std::pair<std::string_view, Pooling> kPoolings[] = {
    {"mean", Pooling::kMean}, {"cls", Pooling::kCls}, {"max", Pooling::kMax}};

constexpr const char* kPoolingHint = "give --pooling mean, cls or max";

constexpr KeyUse kRead = KeyUse::kRead, kHarmless = KeyUse::kHarmless, kFixed = KeyUse::kFixed;

constexpr KnownKey kTransformerKeys[] = {
    {"config_args", kFixed, "[{}]"},
    {"config_kwargs", kFixed, "[{}]"},
    {"do_lower_case", kRead},
    {"document_length", kFixed, "[]"},
    {"max_seq_length", kRead},
    {"modality_config", kFixed,
     R"([{"text": {"method": "forward", "method_output_name": "last_hidden_state"}}])"},
    {"model_args", kFixed, "[{}]"},
    {"model_kwargs", kFixed, "[{}]"},
    {"module_output_name", kFixed, R"(["token_embeddings"])"},
    {"processing_kwargs", kFixed, "[{}]"},
    {"processor_kwargs", kFixed, "[{}]"},
    {"query_expansion", kFixed, "[]"},
    {"query_length", kFixed, "[]"},
    {"tokenizer_args", kFixed, "[{}]"},
    {"transformer_task", kFixed, R"(["feature-extraction"])"},
    {"unpad_inputs", kHarmless},
};
constexpr KnownKey kConfigKeys[] = {
    {"__version__", kHarmless},
    {"default_prompt_name", kRead},
    {"model_type", kFixed, R"(["SentenceTransformer"])"},
    {"prompts", kRead},
    {"requirements", kHarmless},
    {"similarity_fn_name", kRead},
    {"truncate_dim", kRead},
};
constexpr KnownKey kPoolingKeys[] = {
    {"embedding_dimension", kRead},
    {"include_prompt", kRead},
    {"pooling_mode", kRead},
    {"pooling_mode_cls_token", kRead},
    {"pooling_mode_lasttoken", kRead},
    {"pooling_mode_max_tokens", kRead},
    {"pooling_mode_mean_sqrt_len_tokens", kRead},
    {"pooling_mode_mean_tokens", kRead},
    {"pooling_mode_weightedmean_tokens", kRead},
    {"word_embedding_dimension", kRead},
};
constexpr KnownKey kNormalizeKeys[] = {
    {"module_input_name", kFixed, R"(["sentence_embedding"])"},
    {"module_output_name", kFixed, R"(["sentence_embedding"])"},
};
constexpr KnownKey kDenseKeys[] = {
    {"activation_function", kRead},
    {"bias", kRead},
    {"in_features", kRead},
    {"module_input_name", kFixed, R"(["sentence_embedding"])"},
    {"module_output_name", kFixed, R"(["sentence_embedding", null])"},
    {"out_features", kRead},
    {"use_residual", kFixed, "[false]"},
};
constexpr KnownKey kModuleKeys[] = {
    {"idx", kHarmless}, {"kwargs", kFixed, "[[]]"}, {"name", kHarmless}, {"path", kRead},
    {"type", kRead},
};

// Checks the keys of the file `name`, and warns of unknown keys.
void check(const Json& object, std::string_view keys, const std::string& name) {
  try {
    const std::vector<std::string> unknown = check_keys(object, sentence_keys(keys));
    if (!unknown.empty()) {
      log_warning(
          cat(name, " has keys that berth does not know and leaves out: ", listed_keys(unknown)));
    }
  } catch (const Error& error) {
    throw error.at(name);
  }
}

Json parsed(const std::string& text, const std::string& name) {
  Json object = parse_json(text);
  if (!object.is_discarded()) return object;
  throw Error(Code::kCorrupt, "is not JSON", name);
}

// A member that is a text, or "".
std::string text_of(const auto& object, const char* key) {
  const bool is_text = object.is_object() && object.contains(key) && object[key].is_string();
  return is_text ? object[key].template get<std::string>() : "";
}

// A value that is true or false. null is false, as in Python, which takes most other values for
// true.
bool flag_of(const Json& value, std::string_view key, const std::string& where) {
  if (value.is_boolean() || value.is_null()) return value == true;
  throw Error(Code::kUsage, cat(quoted(key), " is ", to_text(value), ", not true or false"), where,
              "write true or false without quotes");
}

bool flag_in(const Json& object, const char* key, bool fallback, const std::string& where) {
  return object.is_object() && object.contains(key) ? flag_of(object[key], key, where) : fallback;
}

// "Pooling" of "sentence_transformers.models.Pooling".
std::string class_of(const auto& module) {
  const std::string type = text_of(module, "type");
  return type.substr(type.rfind('.') + 1);
}

// The pooling modes that are on: one key with a name, or a key for each.
std::vector<std::string> modes_of(const Json& object, const std::string& where) {
  std::vector<std::string> modes;
  if (!object.is_object()) return modes;
  if (const std::string mode = text_of(object, "pooling_mode"); !mode.empty()) return {mode};
  constexpr std::string_view kPrefix = "pooling_mode_";
  for (const auto& [key, value] : object.items()) {
    if (!key.starts_with(kPrefix) || !flag_of(value, key, where)) continue;
    std::string mode = key.substr(kPrefix.size());
    if (mode.ends_with("_tokens")) mode.resize(mode.size() - 7);
    if (mode.ends_with("_token")) mode.resize(mode.size() - 6);
    modes.push_back(mode);
  }
  return modes;
}

Pooling pooling_of(const Json& object, const std::string& where) {
  const std::vector<std::string> modes = modes_of(object, where);
  if (modes.size() != 1) {
    throw Error(Code::kUsage, "does not name exactly one pooling", where, kPoolingHint);
  }
  const auto* const found =
      std::ranges::find(kPoolings, modes[0], [](const auto& known) { return known.first; });
  if (found != std::end(kPoolings)) return found->second;
  throw Error(Code::kUsage, "berth does not compute the pooling " + quoted(modes[0]), where,
              kPoolingHint);
}

// The prompts by their names; an empty object where there are none.
Json prompts_of(const SentenceFiles& files) {
  const Json config = parse_json(files.config_json);
  const bool has_any =
      config.is_object() && config.contains("prompts") && config["prompts"].is_object();
  return has_any ? config["prompts"] : Json::object();
}

// Throws kUsage where a prompt is no text.
void require_prompts(const Json& config) {
  if (!config.is_object() || !config.contains("prompts")) return;
  for (const auto& [name, prompt] : config["prompts"].items()) {
    if (prompt.is_string() || prompt.is_null()) continue;
    throw Error(Code::kUsage,
                cat("the prompt ", quoted(name), " is ", to_text(prompt), ", not a text"),
                kPromptFile);
  }
}

// Reads config_sentence_transformers.json.
void read_config(ModelFolder& folder, SentenceFiles& files) {
  const auto text = folder.module_text(kPromptFile);
  if (!text) return;
  const Json config = parsed(*text, kPromptFile);
  check(config, kPromptFile, kPromptFile);
  require_prompts(config);
  files.config_json = *text;
  files.similarity = text_of(config, "similarity_fn_name");
  if (config.is_object() && config.contains("truncate_dim") && !config["truncate_dim"].is_null()) {
    const Json& dimensions = config["truncate_dim"];
    if (!dimensions.is_number_integer() || dimensions < 1 || dimensions > (1 << 20)) {
      throw Error(Code::kUsage, "\"truncate_dim\" is no number of dimensions", kPromptFile);
    }
    files.truncate_dim = dimensions.get<int64_t>();
  }
  files.default_prompt_name = text_of(config, "default_prompt_name");
  if (files.default_prompt_name.empty()) return;
  const auto prompt = prompt_named(files, files.default_prompt_name);
  if (!prompt) {
    throw Error(
        Code::kUsage,
        cat("the default prompt ", quoted(files.default_prompt_name), " is not among the prompts"),
        kPromptFile, "correct \"default_prompt_name\", or add the prompt");
  }
  files.default_prompt = *prompt;
}

// A length of texts in tokens. nullopt where it is absent, null or without a limit.
std::optional<int64_t> length_in(const Json& object, const char* key, const char* name) {
  if (!object.is_object() || !object.contains(key) || object[key].is_null()) return std::nullopt;
  constexpr int64_t kNoLimit = 1'000'000;  // transformers writes 1e30 where there is none
  const Json& value = object[key];
  if (value.is_number() && value.get<double>() >= kNoLimit) return std::nullopt;
  if (value.is_number_integer() && value >= kShortestSequence) return value.get<int64_t>();
  throw Error(Code::kUsage,
              cat(quoted(key), " is ", to_text(value), ", and berth reads whole numbers from ",
                  kShortestSequence),
              name, "correct it, or take the key out and give --max-seq-length");
}

// The position of a module in the order in which berth computes modules. 0: it is not one of them.
int place_of(std::string_view kind) {
  constexpr std::array<std::string_view, 4> kOrder = {"Transformer", "Pooling", "Dense",
                                                      "Normalize"};
  const auto* const found = std::ranges::find(kOrder, kind);
  return found == kOrder.end() ? 0 : static_cast<int>(found - kOrder.begin()) + 1;
}

// Throws kUsage where a module is another one than berth computes, or stands in another place.
// `before` is the place of the module before it.
void require_computed(const Json& module, int before, const std::string& where) {
  const std::string kind = class_of(module), type = text_of(module, "type");
  const bool is_theirs = type.starts_with("sentence_transformers.");
  const int place = is_theirs ? place_of(kind) : 0;
  if (place == 0) {
    throw Error(Code::kUsage,
                "berth does not compute the module " + quoted(is_theirs ? kind : type), where,
                "give a model of sentence-transformers that has only Transformer, Pooling, Dense "
                "and Normalize");
  }
  const bool may_follow = place == 4   ? before >= 2
                          : place == 3 ? before == 2 || before == 3
                                       : place > before;
  if (may_follow) return;
  throw Error(Code::kUsage,
              cat("the module ", quoted(kind), " stands in another place than berth computes it"),
              where, "the order is Transformer, Pooling, Dense, Normalize");
}

// Whether the function is torch's. In place of another package's function, sentence-transformers
// computes its default, unless it trusts the folder.
bool is_of_torch(std::string_view function, std::string_view end) {
  return function.starts_with("torch.nn.") && function.ends_with(end);
}

// Reads config.json of a Dense module, and its parameters, whose checksum belongs to the job.
DenseModule dense_of(ModelFolder& folder, const Json& object, const std::string& path) {
  constexpr int64_t kMost = 1 << 20;
  const std::string where = path + "/config.json";
  const auto size = [&](const char* key) {
    const bool is_number = object.is_object() && object.contains(key) &&
                           object[key].is_number_integer() && object[key] >= 1 &&
                           object[key] <= kMost;
    if (is_number) return object[key].get<int64_t>();
    throw Error(Code::kUsage, cat(quoted(key), " is no number of features"), where);
  };
  DenseModule module{.folder = path,
                     .inputs = size("in_features"),
                     .outputs = size("out_features"),
                     .has_bias = flag_in(object, "bias", true, where)};
  // Without the key, it is Tanh.
  const std::string function = object.contains("activation_function")
                                   ? text_of(object, "activation_function")
                                   : "torch.nn.Tanh";
  if (is_of_torch(function, ".Tanh")) {
    module.activation = Activation::kTanh;
  } else if (!is_of_torch(function, ".Identity")) {
    throw Error(Code::kUsage,
                cat("\"activation_function\" is ", quoted(function),
                    ", and berth computes Tanh and Identity of torch.nn"),
                where, "give a model with one of these");
  }
  const bool has_parameters = std::ranges::any_of(kModuleParameters, [&](const char* name) {
    return folder.module_text(cat(path, "/", name)).has_value();
  });
  if (has_parameters) return module;
  throw Error(Code::kNotFound, "no model.safetensors or pytorch_model.bin",
              cat(folder.name(), "/", path), "fetch all files of the model");
}

// The path of a module. Throws kCorrupt if it is not below the folder of modules.json.
std::string path_of(const auto& module) {
  const std::string path = text_of(module, "path");
  if (path.starts_with('/') || path.find("..") != std::string::npos) {
    throw Error(Code::kCorrupt, cat("names the folder ", quoted(path)), "modules.json");
  }
  return path;
}

}  // namespace

std::string encoder_path(const std::string& modules_json) {
  const Json modules = parse_json(modules_json);
  if (!modules.is_array()) return "";
  const auto found = std::ranges::find(modules, "Transformer",
                                       [](const Json& module) { return class_of(module); });
  return found == modules.end() ? "" : path_of(*found);
}

std::string other_encoder(const std::string& modules_json) {
  const Json modules = parse_json(modules_json);
  if (!modules.is_array() || modules.empty()) return "";
  const auto is_encoder = [](const Json& module) { return class_of(module) == "Transformer"; };
  return std::ranges::any_of(modules, is_encoder) ? "" : class_of(modules.front());
}

SearchPrompts search_prompts(const SentenceFiles& files) {
  SearchPrompts found{.query = prompt_named(files, "query").value_or("")};
  const Json prompts = prompts_of(files);
  for (const char* name : {"document", "passage", "corpus"}) {
    if (!prompts.contains(name)) continue;
    found.passage = text_of(prompts, name);
    break;
  }
  return found;
}

std::optional<std::string> prompt_named(const SentenceFiles& files, const std::string& name) {
  const Json prompts = prompts_of(files);
  const bool is_usual = name == "query" || name == "document";
  if (!prompts.contains(name) && !is_usual) return std::nullopt;
  return text_of(prompts, name.c_str());
}

std::vector<std::string> prompt_names(const SentenceFiles& files) {
  std::vector<std::string> names;
  const Json prompts = prompts_of(files);
  for (const auto& [name, prompt] : prompts.items()) {
    if (!text_of(prompts, name.c_str()).empty()) names.push_back(name);
  }
  return names;
}

void set_search_prompts(const SearchPrompts& prompts, SentenceFiles& files) {
  OrderedJson config = OrderedJson::object();
  if (!files.config_json.empty()) config = parse_ordered_json(files.config_json);
  OrderedJson all = OrderedJson::object();
  if (config.contains("prompts") && config["prompts"].is_object()) all = config["prompts"];
  all["query"] = prompts.query;
  all["document"] = prompts.passage;
  if (all.contains("passage")) all["passage"] = prompts.passage;
  config["prompts"] = all;
  files.config_json = to_text(config);
  files.default_prompt = text_of(all, files.default_prompt_name.c_str());
}

std::span<const KnownKey> sentence_keys(std::string_view name) {
  if (name == kPromptFile) return kConfigKeys;
  if (name == "modules.json") return kModuleKeys;
  if (name == "Pooling") return kPoolingKeys;
  if (name == "Dense") return kDenseKeys;
  if (name == "Normalize") return kNormalizeKeys;
  return kTransformerKeys;
}

std::optional<int64_t> tokenizer_length(ModelFolder& folder) {
  constexpr const char* kName = "tokenizer_config.json";
  const auto text = folder.text(kName);
  if (!text) return std::nullopt;
  const Json config = parsed(*text, kName);
  const bool is_old = config.is_object() && !config.contains("model_max_length");
  return length_in(config, is_old ? "max_len" : "model_max_length", kName);
}

namespace {

void refuse_cross_encoder(ModelFolder& folder) {
  const auto config = folder.module_text(kPromptFile);
  if (!config || text_of(parsed(*config, kPromptFile), "model_type") != "CrossEncoder") return;
  throw Error(Code::kUsage,
              "the model is a cross-encoder, which scores two texts together and makes no vector "
              "of one",
              folder.name(),
              "give an encoder; --mode predict ranks passages with a cross-encoder, and "
              "--mine-reranker mines with it");
}

}  // namespace

SentenceFiles read_sentence_files(ModelFolder& folder) {
  SentenceFiles files;
  refuse_cross_encoder(folder);
  const auto modules = folder.module_text("modules.json");
  for (const char* name : kLengthFiles) {
    const auto text = folder.text(name);
    if (!text) continue;
    if (!modules) {
      log_warning(cat(folder.name(), " has ", name,
                      " without modules.json: as sentence-transformers does, berth leaves it out"));
      break;
    }
    const Json object = parsed(*text, name);
    if (object.empty()) continue;
    check(object, kLengthFiles[0], name);
    files.lowers_case = flag_in(object, "do_lower_case", false, name);
    files.max_seq_length = length_in(object, "max_seq_length", name);
    break;
  }
  if (!files.max_seq_length) files.max_seq_length = tokenizer_length(folder);
  if (!modules) return files;
  files.is_there = true;
  read_config(folder, files);
  int place = 0;
  for (const Json& module : parsed(*modules, "modules.json")) {
    require_computed(module, place, folder.name() + "/modules.json");
    check(module, "modules.json", "modules.json");
    const std::string kind = class_of(module);
    place = place_of(kind);
    if (kind == "Transformer") continue;
    const std::string path = text_of(module, "path"), name = path + "/config.json";
    const auto text = folder.module_text(name);
    const Json object = text ? parsed(*text, name) : Json::object();
    check(object, kind, name);
    if (kind == "Normalize") {
      files.normalizes = true;
      continue;
    }
    if (kind == "Dense") {
      files.dense.push_back(dense_of(folder, object, path));
      continue;
    }
    if (!text) {
      throw Error(Code::kNotFound, "no such file, and it says how states are pooled",
                  folder.name() + "/" + name, "fetch all files of the model");
    }
    files.pooling = pooling_of(object, name);
    files.pools_prompts = flag_in(object, "include_prompt", true, name);
  }
  if (!files.pooling) {
    throw Error(Code::kUsage, "names no Pooling", folder.name() + "/modules.json",
                "give a model of sentence-transformers that has one");
  }
  return files;
}

namespace {

// Throws kUsage where sentence_bert_config.json asks for what berth does not compute for a
// cross-encoder.
void require_scores(Json encoder, const char* name) {
  const Json forward = {{"method", "forward"}, {"method_output_name", "logits"}};
  const Json known = {{"transformer_task", "sequence-classification"},
                      {"modality_config", {{"text", forward}}},
                      {"module_output_name", "scores"},
                      {"do_lower_case", false}};
  for (const auto& [key, value] : known.items()) {
    if (!encoder.is_object() || !encoder.contains(key)) continue;
    if (!encoder[key].is_null() && encoder[key] != value) {
      throw Error(Code::kUsage,
                  cat(quoted(key), " is ", to_text(encoder[key]),
                      ", with which berth computes no cross-encoder; known is ", to_text(value)),
                  name);
    }
    encoder.erase(key);
  }
  check(encoder, kLengthFiles[0], name);
}

// Throws kUsage where a cross-encoder has other modules than its network, or puts a prompt before
// texts.
void require_no_more(ModelFolder& folder, const std::string& modules) {
  for (const Json& module : parsed(modules, "modules.json")) {
    if (class_of(module) == "Transformer") continue;
    throw Error(Code::kUsage,
                "berth does not compute the module " + quoted(text_of(module, "type")) +
                    " of a cross-encoder",
                folder.name() + "/modules.json");
  }
  SentenceFiles files;
  files.config_json = folder.module_text(kPromptFile).value_or("{}");
  const std::string name = text_of(parsed(files.config_json, kPromptFile), "default_prompt_name");
  if (prompt_named(files, name).value_or("").empty()) return;
  throw Error(Code::kUsage,
              cat("the default prompt of this cross-encoder is ", quoted(name),
                  ", and berth puts none before its texts"),
              folder.name() + "/" + kPromptFile, "take \"default_prompt_name\" out");
}

// The name of the function, "" where none is named, or nullopt where the files are of no
// cross-encoder.
std::optional<std::string> cross_encoder_function(ModelFolder& folder) {
  constexpr const char *kSection = "sentence_transformers",
                       *kOldKey = "sbert_ce_default_activation_function";
  if (const auto text = folder.module_text(kPromptFile)) {
    const Json config = parsed(*text, kPromptFile);
    if (text_of(config, "model_type") == "CrossEncoder") return text_of(config, "activation_fn");
  }
  const Json config = parse_json(folder.config_json());
  if (!config.is_object()) return std::nullopt;
  if (config.contains(kSection)) return text_of(config[kSection], "activation_fn");
  return config.contains(kOldKey) ? std::optional(text_of(config, kOldKey)) : std::nullopt;
}

}  // namespace

std::optional<CrossEncoderFiles> read_cross_encoder_files(ModelFolder& folder) {
  const std::optional<std::string> function = cross_encoder_function(folder);
  if (!function) return std::nullopt;
  CrossEncoderFiles files;
  if (is_of_torch(*function, ".Identity")) {
    files.form = ScoreForm::kLogit;
  } else if (!function->empty() && !is_of_torch(*function, ".Sigmoid")) {
    throw Error(Code::kUsage,
                cat("the function of the scores is ", quoted(*function),
                    ", and berth computes Sigmoid and Identity of torch.nn"),
                folder.name(), "correct \"activation_fn\"");
  }
  constexpr const char* kName = "sentence_bert_config.json";
  if (const auto modules = folder.module_text("modules.json")) {
    require_no_more(folder, *modules);
    const Json encoder = parsed(folder.text(kName).value_or("{}"), kName);
    require_scores(encoder, kName);
    files.max_seq_length = length_in(encoder, "max_seq_length", kName);
  }
  if (!files.max_seq_length) files.max_seq_length = tokenizer_length(folder);
  return files;
}

void write_cross_encoder_files(Storage& storage, const Uri& directory, const ModelConfig& config,
                               int64_t max_seq_length) {
  const auto write = [&](const char* name, const OrderedJson& object) {
    write_text(storage, directory / name, to_text(object, 2) + "\n");
  };
  const OrderedJson forward = {{"method", "forward"}, {"method_output_name", "logits"}};
  write("sentence_bert_config.json", {{"max_seq_length", max_seq_length},
                                      {"transformer_task", "sequence-classification"},
                                      {"modality_config", {{"text", forward}}},
                                      {"module_output_name", "scores"}});
  write(kPromptFile, {{"activation_fn", function_name(config.reranking.form)},
                      {"default_prompt_name", nullptr},
                      {"model_type", "CrossEncoder"},
                      {"prompts", OrderedJson::object()}});
  write("modules.json",
        OrderedJson::array(
            {{{"idx", 0},
              {"name", "0"},
              {"path", ""},
              {"type", "sentence_transformers.base.modules.transformer.Transformer"}}}));
}

void copy_sentence_files(ModelFolder& folder, Storage& storage, const Uri& directory) {
  constexpr const char* kModules = "modules.json";
  const auto text = folder.module_text(kModules);
  if (!text) return;
  const auto keep = [&](const std::string& name, const std::optional<std::string>& content) {
    if (content) write_text(storage, directory / name, *content);
  };
  OrderedJson modules = parse_ordered_json(*text);
  if (!modules.is_array()) throw Error(Code::kCorrupt, "is no list of modules", kModules);
  for (OrderedJson& module : modules) {
    if (class_of(module) == "Transformer") {
      module["path"] = "";
      continue;
    }
    const std::string path = path_of(module);
    if (path.empty()) throw Error(Code::kCorrupt, "names no folder for a module", kModules);
    for (const char* file : {"/config.json", "/model.safetensors", "/pytorch_model.bin"}) {
      keep(path + file, folder.module_text(path + file));
    }
  }
  for (const char* name : kLengthFiles) keep(name, folder.text(name));
  keep(kPromptFile, folder.module_text(kPromptFile));
  keep(kModules, to_text(modules, 2) + "\n");
}

namespace {

// The folder of a Dense module, as berth writes it.
std::string dense_folder(size_t place) { return cat(place + 2, "_Dense"); }

}  // namespace

void write_dense_modules(Storage& storage, const Uri& directory, const ModelConfig& config,
                         const ParameterTensors& values, DType dtype) {
  for (size_t i = 0; i < config.dense_modules.size(); ++i) {
    const DenseModule& module = config.dense_modules[i];
    const Uri folder = directory / dense_folder(i);
    const OrderedJson object = {
        {"in_features", module.inputs},
        {"out_features", module.outputs},
        {"bias", module.has_bias},
        {"activation_function", module.activation ? "torch.nn.modules.activation.Tanh"
                                                  : "torch.nn.modules.linear.Identity"}};
    write_text(storage, folder / "config.json", to_text(object, 2) + "\n");
    std::vector<SavedTensor> tensors;
    const std::string own = dense_module_name(i);
    for (size_t p = 0; p < values.specs().size(); ++p) {
      const std::string& name = values.specs()[p].name;
      if (!name.starts_with(own + ".")) continue;
      tensors.push_back(
          {.name = "linear" + name.substr(own.size()), .from = &values, .parameter = p});
    }
    store_object(storage, folder / "model.safetensors", [&](ByteSink& sink) {
      write_tensors(sink, tensors, dtype, {{"format", "pt"}});
    });
  }
}

void write_sentence_files(Storage& storage, const Uri& directory, const ModelConfig& config,
                          int64_t max_seq_length, const SentenceFiles& files) {
  const auto write = [&](const char* name, const OrderedJson& object) {
    write_text(storage, directory / name, to_text(object, 2) + "\n");
  };
  OrderedJson modules = OrderedJson::array();
  const auto add_module = [&](const char* kind, const std::string& path) {
    const size_t number = modules.size();
    modules.push_back({{"idx", number},
                       {"name", std::to_string(number)},
                       {"path", path},
                       {"type", cat("sentence_transformers.models.", kind)}});
  };
  add_module("Transformer", "");
  add_module("Pooling", "1_Pooling");
  for (size_t i = 0; i < config.dense_modules.size(); ++i) add_module("Dense", dense_folder(i));
  if (config.normalizes_embeddings) {
    add_module("Normalize", cat(modules.size(), "_Normalize"));
  }
  OrderedJson pooling = {{"word_embedding_dimension", config.hidden_size},
                         {"pooling_mode_cls_token", config.pooling == Pooling::kCls},
                         {"pooling_mode_mean_tokens", config.pooling == Pooling::kMean},
                         {"pooling_mode_max_tokens", config.pooling == Pooling::kMax},
                         {"pooling_mode_mean_sqrt_len_tokens", false}};
  if (!files.pools_prompts) pooling["include_prompt"] = false;
  write("1_Pooling/config.json", pooling);
  write("sentence_bert_config.json",
        {{"max_seq_length", max_seq_length}, {"do_lower_case", files.lowers_case}});
  OrderedJson kept = OrderedJson::object();
  if (!files.config_json.empty()) kept = parse_ordered_json(files.config_json);
  kept.erase("__version__");
  if (!kept.contains("prompts")) kept["prompts"] = OrderedJson::object();
  if (!kept.contains("default_prompt_name")) kept["default_prompt_name"] = nullptr;
  kept["similarity_fn_name"] = files.similarity.empty() ? "cosine" : files.similarity;
  write(kPromptFile, kept);
  write("modules.json", modules);
}

}  // namespace berth
