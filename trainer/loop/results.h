#pragma once

#include <optional>
#include <string>

#include "storage/storage.h"
#include "trainer/loop/evaluate.h"
#include "trainer/loop/train.h"
#include "trainer/model/config.h"
#include "trainer/model/parameter_tensors.h"
#include "trainer/text/tokenizer.h"

namespace berth {

// metrics.json of a job that finished. `result` absent: nothing was trained (--mode eval).
struct JobMetrics {
  std::optional<TrainResult> result;
  std::optional<EvaluationResult> evaluation;
  std::optional<EvaluationResult> mismatched{};  // MNLI's second set
  Task task = kDefaultTask;
  DType precision = DType::kF32;  // of products
  std::string kernels;
};
std::string to_json(const JobMetrics& metrics);

// The finished model in Hugging Face layout: config.json with the labels, model.safetensors of
// `dtype`, the tokenizer's files, README.md.
void export_model(Storage& storage, const Uri& directory, const ModelConfig& config,
                  const ParameterTensors& values, DType dtype, const Tokenizer& tokenizer,
                  const JobMetrics& metrics);

// Beside it, as google-research/bert and TF Model Garden have it: the checkpoint bert_model.ckpt
// and bert_config.json. Throws kUsage for another architecture than BERT and ALBERT.
void export_tensorflow(Storage& storage, const Uri& directory, const ModelConfig& config,
                       const ParameterTensors& values);

}  // namespace berth
