#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "storage/storage.h"
#include "trainer/loop/evaluate.h"
#include "trainer/loop/train.h"
#include "trainer/model/config.h"
#include "trainer/model/parameter_tensors.h"
#include "trainer/model/update.h"
#include "trainer/text/tokenizer.h"

namespace berth {

// The content of metrics.json of a finished job. Without a training (--mode eval), `result` is
// absent.
struct JobMetrics {
  std::optional<TrainResult> result;
  std::optional<EvaluationResult> evaluation;
  std::optional<EvaluationResult> mismatched{};  // MNLI's second set
  Task task = kDefaultTask;
  // With --precision int8: `evaluation` once more, in fp32.
  std::optional<EvaluationResult> in_fp32{};
  Precision precision = Precision::kFp32;  // of matrix products
  std::string kernels;
  // For the model card: the file or folder of the evaluation's rows, and the model that the
  // training began with, as the job names them. Empty: not known.
  std::string dataset{}, base_model{};
  // The bytes of the files that hold the exported model's parameters, by their names in its folder.
  std::map<std::string, uint64_t> model_bytes{};
};
std::string to_json(const JobMetrics& metrics);

// The most classes whose scores fit a screen.
inline constexpr size_t kMostShownClasses = 20;
// The same for people who have `details`, a file with all of it: of more classes, only the ten with
// the lowest F1, and no confusion matrix.
std::string to_summary_json(const JobMetrics& metrics, const std::string& details);
// The part of this process's training time that it waited for probes, from 0 to 1.
double probe_share(const TrainResult& result);

// A model without either of these files does not load. So a writer of a model removes them first
// and writes them last. No folder then has the labels of one model and the weights of another.
inline constexpr const char *kConfigFile = "config.json", *kBertConfigFile = "bert_config.json";
void remove_model_config(Storage& storage, const Uri& directory);

// Whether the finished model's file holds the parameter of this name. A generator and Dense modules
// have files of their own, and a model that is saved as an encoder alone loses its head.
bool is_exported(const ModelConfig& config, std::string_view parameter);

// Writes the finished model in Hugging Face layout: the tokenizer's files, README.md,
// model.safetensors in `dtype`, and last config.json with the labels. An older model must have lost
// its configuration before: remove_model_config().
void export_model(Storage& storage, const Uri& directory, const ModelConfig& config,
                  const ParameterTensors& values, DType dtype, const Tokenizer& tokenizer,
                  const JobMetrics& metrics);

// Writes the model beside it in the layout of google-research/bert and TF Model Garden: the
// checkpoint bert_model.ckpt and bert_config.json. Throws kUsage if the model is neither a BERT nor
// an ALBERT.
void export_tensorflow(Storage& storage, const Uri& directory, const ModelConfig& config,
                       const ParameterTensors& values);

// The README.md of a finished model: what it is, how it is loaded, and its scores. It begins with
// the metadata that the Hugging Face Hub reads (huggingface.co/docs/hub/model-cards), with the
// scores as a model index. Labels and names are shown as text, whatever they hold.
std::string model_card(const ModelConfig& config, const JobMetrics& metrics);

// How the card calls a file of data or a model: by the name on the hub, "org/name", or else by the
// last part of the path. It contains no server, user or query.
std::string card_name(const std::string& uri);
// The same for a model, which has a name only on the hub. Empty: it is not from there.
std::string hub_name(const std::string& uri);

// The model in ONNX's format, and its parameters where they are too large for that file. Hugging
// Face Optimum finds them by these names.
inline constexpr const char* kOnnxModelFile = "model.onnx";
inline constexpr const char* kOnnxDataFile = "model.onnx_data";

// Writes the model for inference with other programs, such as ONNX Runtime: the encoder and the
// head for the config's task, with parameters of type `dtype`. `values` are all parameters of the
// config's table, with adapters merged. `gives_types` says whether the tokenizer gives token types.
// config.json and the tokenizer's files belong beside it. Throws kBadData where a number does not
// fit `dtype`, and what storage throws.
void export_onnx(Storage& storage, const Uri& directory, const ModelConfig& config,
                 const ParameterTensors& values, DType dtype, bool gives_types = true);

}  // namespace berth
