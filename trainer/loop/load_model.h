#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "storage/storage.h"
#include "trainer/loop/model_folder.h"
#include "trainer/loop/options.h"
#include "trainer/model/config.h"
#include "trainer/model/parameter_tensors.h"
#include "trainer/text/tokenizer.h"

namespace berth {

// A model's configuration and tokenizer, before its labels and parameters are known.
struct ModelDescription {
  ModelConfig config;
  std::unique_ptr<Tokenizer> tokenizer;
};

// Whether rows of these files are texts: a model without a vocabulary can still take rows of token
// ids (make_record_examples()). Told by the names.
bool needs_tokenizer(const DataOptions& data);

// Throws kUsage when vocabulary and configuration disagree or max_seq_length exceeds the positions;
// kNotFound without a vocabulary that `data` needs. Unneeded and absent, its tokenizer throws that
// where it is used, and has no files.
ModelDescription describe_model(ModelFolder& folder, const ModelOptions& options,
                                const DataOptions& data);

// The label names to train with: the model's own where they are the data's (in another order or
// more), else the data's, in their order. `config` is what the model file says.
std::vector<std::string> choose_labels(const ModelConfig& config,
                                       const std::vector<std::string>& data_labels);

// `known`, all the class names that there are, in the order of `labels` where those are the same
// but for case; nullopt where they are not.
std::optional<std::vector<std::string>> in_order_of(const std::vector<std::string>& labels,
                                                    const std::vector<std::string>& known);

// The label names to train with where all are known beforehand: in the model's order where they
// are its own, else as they are.
std::vector<std::string> order_labels(const ModelConfig& config,
                                      const std::vector<std::string>& known);

// Whether nobody named a model's labels: they are LABEL_0, LABEL_1, ..., as transformers writes
// them then.
bool are_placeholders(const std::vector<std::string>& labels);

// The names that rows to evaluate carry for the config's labels: themselves, or 0, 1, ... where
// they are placeholders (LABEL_0, LABEL_1, ...).
std::vector<std::string> evaluation_labels(const ModelConfig& config);

enum class HeadNeed { kOptional, kRequired };

// Fills the parameters' values, on at most `threads` threads: from the folder's file, where the
// head's missing ones are initialised and the log says so, and adapters are initialised; or all of
// them at random. Throws kNotFound when --init pretrained finds no file, kBadData when a required
// head is not in it.
void fill_parameters(ModelFolder& folder, const ModelOptions& options, const ModelConfig& config,
                     uint64_t seed, int threads, ParameterTensors& values,
                     HeadNeed head = HeadNeed::kOptional);

}  // namespace berth
