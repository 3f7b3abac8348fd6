#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "storage/base/known_keys.h"
#include "trainer/inputs/model_folder.h"
#include "trainer/model/config.h"
#include "trainer/model/parameter_tensors.h"

namespace berth {

// The settings for embeddings in a model's folder, in the files of sentence-transformers.
// modules.json lists the modules (an encoder, then a Pooling, perhaps Dense modules and a
// Normalize), each with a folder of its own. In older folders the encoder has one, too, such as
// 0_Transformer. A value is empty if the folder does not have it. Without modules.json,
// sentence-transformers reads none of these files.
struct SentenceFiles {
  bool is_there = false;  // there is a modules.json
  std::optional<Pooling> pooling{};
  std::vector<DenseModule> dense{};
  bool normalizes = false;
  bool lowers_case = false;  // do_lower_case of sentence_bert_config.json
  // truncate_dim: encode() returns this number of elements from the beginning of each vector.
  std::optional<int64_t> truncate_dim{};
  // What encode() puts before each text by default: default_prompt_name, and the prompt itself.
  std::string default_prompt_name{}, default_prompt{};
  // include_prompt of the Pooling: whether the tokens of a prompt count in an embedding.
  bool pools_prompts = true;
  std::string similarity{};  // similarity_fn_name; "": the cosine
  std::string
      config_json{};  // config_sentence_transformers.json, to be written again; "": there is none
  // Of sentence_bert_config.json, or else the tokenizer's model_max_length. In tokens.
  std::optional<int64_t> max_seq_length{};
};

// The folder of the encoder by the text of modules.json. "": it is the folder of modules.json.
// Throws kCorrupt if it is not below that folder.
std::string encoder_path(const std::string& modules_json);
// The class of the first module where the text of modules.json names no Transformer, else "".
std::string other_encoder(const std::string& modules_json);

// The model_max_length of tokenizer_config.json, in tokens. nullopt if it names none, or one that
// means no limit. Throws kUsage if berth does not support the length.
std::optional<int64_t> tokenizer_length(ModelFolder& folder);

// Reads them. Throws kUsage if berth does not support a module, its package, the order of modules,
// a pooling or a key's value. It also does if the default prompt has no text. Throws kNotFound if
// the configuration of a Pooling or a file of a Dense is absent, and kCorrupt if a file is not
// JSON. Warns of keys that nobody knows.
SentenceFiles read_sentence_files(ModelFolder& folder);

// What a search puts before each text.
struct SearchPrompts {
  std::string query{}, passage{};
};

// The prompts that a folder has for search: "query", and the first one of "document", "passage" and
// "corpus". These are what encode_query() and encode_document() of sentence-transformers use. The
// default prompt is not used.
SearchPrompts search_prompts(const SentenceFiles& files);
// The prompt of this name. nullopt: the folder has none. "query" and "document" are empty where the
// folder does not have them, as in sentence-transformers.
std::optional<std::string> prompt_named(const SentenceFiles& files, const std::string& name);
// The names of the folder's prompts that are not empty.
std::vector<std::string> prompt_names(const SentenceFiles& files);
// Gives `files` other prompts for search: "query" and "document", and "passage" where it has one.
// Other prompts stay.
void set_search_prompts(const SearchPrompts& prompts, SentenceFiles& files);

// The keys of these files. `name` is "sentence_bert_config.json",
// "config_sentence_transformers.json", "modules.json" or the module's class ("Pooling", "Dense",
// "Normalize"), whose file is config.json.
std::span<const KnownKey> sentence_keys(std::string_view name);

// Writes the files beside an exported encoder with which SentenceTransformer(path) loads it, in the
// layout that every version reads: texts are cut to `max_seq_length` tokens, pooled and perhaps
// normalized as the config says. `files` come from the model that the training began with. Their
// prompts and other keys of config_sentence_transformers.json go into the new files.
void write_sentence_files(Storage& storage, const Uri& directory, const ModelConfig& config,
                          int64_t max_seq_length, const SentenceFiles& files = {});

// Writes the files of the Dense modules that write_sentence_files() has listed. Their parameters
// are in `values`.
void write_dense_modules(Storage& storage, const Uri& directory, const ModelConfig& config,
                         const ParameterTensors& values, DType dtype);

// How CrossEncoder(path) reads pairs.
struct CrossEncoderFiles {
  ScoreForm form = ScoreForm::kProbability;  // what it makes of a pair's logit
  // Of sentence_bert_config.json, or else the tokenizer's model_max_length. In tokens.
  std::optional<int64_t> max_seq_length{};
};

// Reads it from the folder of a cross-encoder: from the files of version 6, or keys of config.json
// that earlier versions wrote. nullopt: it is another model's. Throws kUsage where CrossEncoder
// would apply another function than a sigmoid, put a prompt before texts, lower-case them or
// compute another module. It also does if berth does not support the length.
std::optional<CrossEncoderFiles> read_cross_encoder_files(ModelFolder& folder);

// Writes the files beside an exported cross-encoder with which CrossEncoder(path) loads it, as
// version 6.2 does. Pairs are cut to `max_seq_length` tokens.
void write_cross_encoder_files(Storage& storage, const Uri& directory, const ModelConfig& config,
                               int64_t max_seq_length);

// Copies these files to `directory`, beside an encoder that is written there: `directory` is the
// folder of modules.json and of its encoder. Does nothing where the model has no modules.json.
// Modules that berth does not compute are copied as well. Throws kCorrupt where modules.json is no
// list of objects, or names a folder that is not below its own.
void copy_sentence_files(ModelFolder& folder, Storage& storage, const Uri& directory);

}  // namespace berth
