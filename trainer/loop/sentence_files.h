#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trainer/loop/model_folder.h"
#include "trainer/model/config.h"

namespace berth {

// What a model's folder says of embeddings beside its encoder, in the files of
// sentence-transformers: modules.json lists the modules (an encoder, then a Pooling, perhaps a
// Normalize), each with a folder of its own; older folders keep the encoder in 0_Transformer. Empty
// where the folder does not say.
struct SentenceFiles {
  bool is_there = false;  // there is a modules.json
  std::optional<Pooling> pooling{};
  bool normalizes = false;
  // Of sentence_bert_config.json, or else the tokenizer's model_max_length. In tokens.
  std::optional<int64_t> max_seq_length{};
};

// Reads them. Throws kUsage where a module or a pooling is one that berth does not compute, and
// kCorrupt where a file is not JSON. Warns of a prompt that encode() would put before each text.
SentenceFiles read_sentence_files(ModelFolder& folder);

// Writes the files beside an exported encoder with which SentenceTransformer(path) loads it, in the
// layout that every version reads: texts are cut to `max_seq_length` tokens, pooled and perhaps
// normalized as the config says.
void write_sentence_files(Storage& storage, const Uri& directory, const ModelConfig& config,
                          int64_t max_seq_length);

// Copies these files to `directory`, beside an encoder that is written there: `directory` is the
// folder of modules.json and of its encoder. Does nothing where the model has no modules.json.
// Modules that berth does not compute are copied as well. Throws kCorrupt where modules.json is no
// list of objects, or names a folder that is not below its own.
void copy_sentence_files(ModelFolder& folder, Storage& storage, const Uri& directory);

}  // namespace berth
