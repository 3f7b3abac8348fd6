#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "storage/storage.h"
#include "trainer/inputs/model_folder.h"
#include "trainer/inputs/options.h"
#include "trainer/inputs/sentence_files.h"
#include "trainer/model/config.h"
#include "trainer/model/parameter_tensors.h"
#include "trainer/text/tokenizer.h"

namespace berth {

// A model's configuration and tokenizer, before its labels and parameters are known.
struct ModelDescription {
  ModelConfig config;
  std::unique_ptr<Tokenizer> tokenizer;
  std::vector<std::string> tokenizer_rules{};  // see load_tokenizer()
  SentenceFiles sentences{};                   // of a model that makes embeddings; else empty
};

// Whether rows of these files are texts, judging by the names of the files. A model without a
// vocabulary can still take rows of token ids (make_record_examples()).
bool needs_tokenizer(const DataOptions& data);

// Reads the model's configuration and tokenizer. Throws kUsage if vocabulary and configuration
// disagree or max_seq_length exceeds the positions, and kNotFound if `data` needs a vocabulary and
// there is none. If the vocabulary is absent and not needed, the tokenizer has no files and throws
// kNotFound when it is used.
ModelDescription describe_model(ModelFolder& folder, const ModelOptions& options,
                                const DataOptions& data);

// Makes `model` embed texts as its folder's files of sentence-transformers say: reads its tokenizer
// again, if they lower-case the texts.
void use_sentence_files(ModelFolder& folder, const ModelOptions& options, SentenceFiles files,
                        ModelDescription& model);

// The label names to train with. They are the model's own if these contain all of the data's, in
// any order. Otherwise they are the data's: in the model's order where the names differ in case
// alone, and else in their own. `config` comes from the model's file.
std::vector<std::string> choose_labels(const ModelConfig& config,
                                       const std::vector<std::string>& data_labels);

// Returns `known`, which are all class names of the task, in the order of `labels`. Returns nullopt
// if the two have different names, apart from case.
std::optional<std::vector<std::string>> in_order_of(const std::vector<std::string>& labels,
                                                    const std::vector<std::string>& known);

// The label names to train with if all are known beforehand. They are in the model's order if the
// model has the same names, and otherwise as they are.
std::vector<std::string> order_labels(const ModelConfig& config,
                                      const std::vector<std::string>& known);

// Whether the labels are LABEL_0, LABEL_1, ..., which transformers writes for labels without names.
bool are_placeholders(const std::vector<std::string>& labels);

// The names of the config's labels in the rows to evaluate. They are the labels themselves, or 0,
// 1, ... if the labels are placeholders (LABEL_0, LABEL_1, ...).
std::vector<std::string> evaluation_labels(const ModelConfig& config);

// The rule of a job whose decoder is not tied, because its model's file has one with other numbers.
inline constexpr const char* kOwnDecoderRule = "a decoder of the model's file counts";

// For tasks of masked tokens, whose decoder usually shares the word embeddings. If the folder's
// file has a decoder with other numbers, the config's decoder becomes untied, as in transformers 5.
// Warns of that, and of another bias of the decoder. Adds to `rules` the rules by which earlier
// versions read the file in another way.
void resolve_decoder(ModelFolder& folder, const ModelOptions& options, ModelConfig& config,
                     std::vector<std::string>& rules);

// Warns where PEFT could not load an adapter of this job onto the folder's file, because the names
// of its tensors have prefixes or wrappers.
void warn_of_adapter_base(ModelFolder& folder, const ModelOptions& options,
                          const ModelConfig& config);

enum class HeadNeed { kOptional, kRequired };

// Fills the values of the parameters on at most `threads` threads. With --init pretrained, takes
// them from the folder's file, initialises the adapters and what the file lacks of the head, and
// logs the latter. With --init random, initialises all of them. Throws kNotFound if --init
// pretrained finds no file, and kBadData if the file lacks a required head.
void fill_parameters(ModelFolder& folder, const ModelOptions& options, const ModelConfig& config,
                     uint64_t seed, int threads, ParameterTensors& values,
                     HeadNeed head = HeadNeed::kOptional);

}  // namespace berth
