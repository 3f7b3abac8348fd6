#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/base/text.h"
#include "storage/formats/tensor_file.h"
#include "trainer/model/batch.h"
#include "trainer/model/task.h"

namespace berth {

// The tensors of a file whose names begin with `prefix`. Their names lose the prefix.
class Selected final : public TensorReader {
 public:
  Selected(const TensorReader& file, std::string_view prefix) {
    for (const NamedTensor& tensor : file.tensors()) {
      if (!tensor.name.starts_with(prefix)) continue;
      tensors_.push_back(tensor);
      tensors_.back().name.erase(0, prefix.size());
    }
  }
  std::span<const NamedTensor> tensors() const override { return tensors_; }

 private:
  std::vector<NamedTensor> tensors_;
};

template <typename T>
std::vector<T> recorded_values(const TensorReader& file, std::string_view name) {
  const NamedTensor* tensor = file.find(name);
  if (tensor == nullptr) throw std::runtime_error("not recorded: " + std::string(name));
  std::vector<T> result(tensor->data.size() / sizeof(T));
  std::memcpy(result.data(), tensor->data.data(), tensor->data.size());
  return result;
}

// What the model of a file was recorded for, which the end of the file's name says.
inline Task recorded_task(std::string_view name) {
  for (const auto& [end, task] :
       {std::pair("-token", Task::kTokenClassification), std::pair("-masked", Task::kMaskedLm),
        std::pair("-score", Task::kRegression), std::pair("-sets", Task::kMultiLabel),
        std::pair("-qa", Task::kQuestionAnswering), std::pair("-choice", Task::kMultipleChoice)}) {
    if (name.ends_with(end)) return task;
  }
  return Task::kSequenceClassification;
}

// The packed inputs that tests/record/record_architectures.py wrote, without labels.
inline PackedBatch recorded_inputs(const TensorReader& file) {
  PackedBatch packed;
  packed.input_ids = recorded_values<int32_t>(file, "input_ids");
  packed.token_type_ids = recorded_values<int32_t>(file, "token_type_ids");
  for (const int32_t length : recorded_values<int32_t>(file, "lengths")) {
    for (int32_t i = 0; i < length; ++i) packed.position_ids.push_back(i);
    packed.cu_seqlens.push_back(packed.cu_seqlens.back() + length);
  }
  if (file.find("choices") != nullptr) {
    packed.sequences_per_example = recorded_values<int32_t>(file, "choices").at(0);
  }
  return packed;
}

// Their labels, for the task that was recorded.
inline decltype(PackedBatch::labels) recorded_labels(const TensorReader& file, Task task) {
  if (task == Task::kRegression) {
    return PackedBatch::Scores{recorded_values<float>(file, "labels")};
  }
  if (task == Task::kMultiLabel) {
    return PackedBatch::ClassSets{recorded_values<float>(file, "labels")};
  }
  const auto labels = recorded_values<int32_t>(file, "labels");
  if (task == Task::kTokenClassification) return PackedBatch::TokenClasses{labels};
  if (task == Task::kQuestionAnswering) {
    return PackedBatch::Answers{labels, recorded_values<int32_t>(file, "ends")};
  }
  if (task == Task::kMaskedLm) {  // all tokens are masked
    PackedBatch::MaskedTokens masked{.tokens = {}, .ids = labels};
    for (size_t i = 0; i < labels.size(); ++i) masked.tokens.push_back(static_cast<int32_t>(i));
    return masked;
  }
  return labels;
}

// Every architecture with its heads: the names of the files in testdata/architectures.tar.
inline const std::vector<std::string> kRecordedCases = parted(
    "bert-sequence bert-token bert-masked bert-score bert-sets bert-qa roberta-sequence "
    "roberta-token roberta-masked roberta-score roberta-sets roberta-qa xlm-roberta-sequence "
    "xlm-roberta-qa distilbert-sequence distilbert-token distilbert-masked distilbert-qa "
    "electra-sequence electra-token electra-masked electra-qa albert-sequence albert-token "
    "albert-masked albert-qa deberta-v2-sequence deberta-v2-token deberta-v2-masked deberta-v2-qa "
    "deberta-v2-biased-sequence deberta-v2-convolved-sequence modernbert-sequence "
    "modernbert-token modernbert-masked modernbert-qa modernbert-biased-sequence "
    "modernbert-biased-qa mpnet-sequence mpnet-token mpnet-masked bert-untied-masked "
    "roberta-untied-masked distilbert-untied-masked electra-untied-masked albert-untied-masked "
    "deberta-v2-untied-masked modernbert-untied-masked mpnet-untied-masked mpnet-qa "
    "nomic-sequence nomic-token nomic-masked data2vec-text-sequence data2vec-text-qa "
    "roformer-sequence roformer-token roformer-masked roformer-qa bert-choice roberta-choice "
    "distilbert-choice electra-choice albert-choice deberta-v2-choice modernbert-choice "
    "modernbert-biased-choice mpnet-choice data2vec-text-choice megatron-bert-sequence "
    "megatron-bert-token megatron-bert-masked megatron-bert-qa megatron-bert-choice "
    "roberta-prelayernorm-sequence roberta-prelayernorm-token roberta-prelayernorm-masked "
    "roberta-prelayernorm-qa roberta-prelayernorm-choice xlm-roberta-xl-sequence "
    "xlm-roberta-xl-token xlm-roberta-xl-masked xlm-roberta-xl-qa xlm-roberta-xl-choice "
    "ernie-sequence ernie-token ernie-masked ernie-qa ernie-choice",
    " ");

// Those of them with ten losses.
inline const std::vector<std::string> kRecordedLosses = parted(
    "modernbert-sequence modernbert-token modernbert-masked modernbert-qa "
    "modernbert-biased-sequence modernbert-biased-qa mpnet-sequence mpnet-token mpnet-masked "
    "mpnet-qa nomic-sequence nomic-token nomic-masked data2vec-text-sequence data2vec-text-qa "
    "roformer-sequence roformer-token roformer-masked roformer-qa bert-choice roberta-choice "
    "distilbert-choice electra-choice albert-choice deberta-v2-choice modernbert-choice "
    "modernbert-biased-choice mpnet-choice data2vec-text-choice megatron-bert-sequence "
    "megatron-bert-token megatron-bert-masked megatron-bert-qa megatron-bert-choice "
    "roberta-prelayernorm-sequence roberta-prelayernorm-token roberta-prelayernorm-masked "
    "roberta-prelayernorm-qa roberta-prelayernorm-choice xlm-roberta-xl-sequence "
    "xlm-roberta-xl-token xlm-roberta-xl-masked xlm-roberta-xl-qa xlm-roberta-xl-choice "
    "ernie-sequence ernie-token ernie-masked ernie-qa ernie-choice",
    " ");

// A recorded case's name as GoogleTest wants it.
inline std::string test_name(const testing::TestParamInfo<std::string>& test) {
  std::string name = test.param;
  std::ranges::replace(name, '-', '_');
  return name;
}

}  // namespace berth
