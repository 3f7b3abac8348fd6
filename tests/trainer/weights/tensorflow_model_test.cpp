#include "trainer/weights/tensorflow_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "storage/formats/converted_tensors.h"
#include "storage/formats/safetensors.h"
#include "tests/support/bundle_files.h"
#include "tests/support/throws_code.h"
#include "trainer/weights/tensorflow_names.h"

namespace berth {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

std::vector<float> floats(const NamedTensor& tensor) {
  std::vector<float> values(tensor.data.size() / sizeof(float));
  std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
  return values;
}

TensorflowModel model_of(const BundleFiles& files) {
  return TensorflowModel(files.parsed(), [&](int32_t) { return as_bytes(files.data); });
}

// The values of this tensor in Hugging Face's layout. record_tensorflow.py filled each variable
// with consecutive whole numbers. The first one is the sum of the bytes of the variable's TF1 name.
std::vector<float> expected_values(const NamedTensor& tensor) {
  const auto variable = to_tensorflow1(tensor.name, TensorflowDialect::kBert);
  const std::string& name = variable->name;
  const auto start = std::accumulate(name.begin(), name.end(), 0);
  std::vector<float> values(static_cast<size_t>(tensor.elements()));
  const bool is_kernel = variable->layout == TensorflowLayout::kInputsFirst;
  const int64_t outputs = is_kernel ? tensor.shape[0] : 1, inputs = is_kernel ? tensor.shape[1] : 1;
  for (size_t i = 0; i < values.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    const int64_t source = is_kernel ? at % inputs * outputs + at / inputs : at;
    values[i] = static_cast<float>(start + source);
  }
  return values;
}

void expect_recorded_values(const TensorflowModel& model) {
  const ConvertedTensors whole(model);
  for (const NamedTensor& tensor : whole.tensors()) {
    EXPECT_EQ(floats(tensor), expected_values(tensor)) << tensor.name;
  }
}

std::vector<std::string> names_of(const TensorReader& reader) {
  std::vector<std::string> names;
  for (const NamedTensor& tensor : reader.tensors()) names.push_back(tensor.name);
  return names;
}

TEST(TensorflowModel, Tf1VariablesHaveHuggingFaceNamesAndShapes) {
  const BundleFiles files = recorded_bundle("tf1");
  const TensorflowModel model = model_of(files);
  EXPECT_EQ(model.tensors().size(), 5u + 2 * 16 + 2 + 2);
  expect_recorded_values(model);
  EXPECT_THAT(model.find("bert.encoder.layer.1.intermediate.dense.weight")->shape,
              ElementsAre(6, 4));
  EXPECT_THAT(model.find("classifier.weight")->shape, ElementsAre(3, 4));
}

TEST(TensorflowModel, TrainingStateIsIgnored) {
  const BundleFiles files = recorded_bundle("tf1");
  const TensorflowModel model = model_of(files);
  EXPECT_EQ(model.ignored().size(), 2 * model.tensors().size() + 1);
  EXPECT_THAT(model.ignored(), Contains("global_step"));
  EXPECT_THAT(model.ignored(), Contains("bert/pooler/dense/kernel/adam_m"));
}

TEST(TensorflowModel, Tf2LayersByNumberAreTheSameModel) {
  const BundleFiles files = recorded_bundle("tf2_layers");
  const TensorflowModel model = model_of(files);
  EXPECT_EQ(model.tensors().size(), 5u + 2 * 16 + 2);
  expect_recorded_values(model);
  EXPECT_THAT(model.ignored(), Contains("save_counter/.ATTRIBUTES/VARIABLE_VALUE"));
  EXPECT_THAT(model.ignored(), Contains("optimizer/_variables/0/.ATTRIBUTES/VARIABLE_VALUE"));
}

TEST(TensorflowModel, Tf2AttributesAreTheSameModelWithItsHeads) {
  const BundleFiles files = recorded_bundle("tf2_attributes");
  const TensorflowModel model = model_of(files);
  EXPECT_EQ(model.tensors().size(), 5u + 2 * 16 + 2 + 5);
  expect_recorded_values(model);
  EXPECT_NE(model.find("cls.predictions.transform.LayerNorm.bias"), nullptr);
  EXPECT_NE(model.find("bert.pooler.dense.weight"), nullptr);
}

TEST(TensorflowModel, UnknownTf2PathsAreMatchedByTheirFullNames) {
  const BundleFiles files = recorded_bundle("tf2_other");
  const TensorflowModel model = model_of(files);
  EXPECT_EQ(model.tensors().size(), 5u + 16 + 2);
  expect_recorded_values(model);
}

TEST(TensorflowModel, OnlyKernelsAreCopiedAndOnlyWhenRead) {
  const BundleFiles files = recorded_bundle("tf1");
  const TensorflowModel model = model_of(files);
  std::vector<std::byte> memory;
  const NamedTensor* kernel = model.find("bert.pooler.dense.weight");
  EXPECT_TRUE(kernel->data.empty());
  const Bytes in_order = model.read(*kernel, memory);
  EXPECT_EQ(in_order.data(), memory.data());
  const Bytes words = model.read(*model.find("bert.embeddings.word_embeddings.weight"), memory);
  EXPECT_GE(words.data(), as_bytes(files.data).data());
  EXPECT_LT(words.data(), as_bytes(files.data).data() + files.data.size());
}

// A checkpoint of variables with any names, filled with whole numbers.
class MadeUpCheckpoint : public testing::Test {
 protected:
  void add(const std::string& name, std::vector<int64_t> shape) {
    NamedTensor tensor{.name = name, .shape = std::move(shape)};
    const size_t size = static_cast<size_t>(tensor.elements()) * sizeof(float);
    tensor.data = Bytes(zeros_).first(size);
    tensors_.push_back(std::move(tensor));
  }
  TensorflowModel model() {
    files_ = written_bundle(tensors_);
    return model_of(files_);
  }

  const std::vector<std::byte> zeros_{4096};
  std::vector<NamedTensor> tensors_;
  BundleFiles files_;
};

TEST_F(MadeUpCheckpoint, OfUnknownVariablesKeepsTheirNames) {
  add("my/variable", {2, 3});
  EXPECT_THAT(names_of(model()), ElementsAre("my/variable"));
}

TEST_F(MadeUpCheckpoint, OfAlbertHasAlbertsNames) {
  add("module/bert/embeddings/word_embeddings", {5, 2});
  add("module/bert/encoder/embedding_hidden_mapping_in/kernel", {2, 4});
  add("module/bert/encoder/transformer/group_0/inner_group_0/ffn_1/intermediate/dense/kernel",
      {4, 8});
  add("output_weights", {3, 4});
  const TensorflowModel albert = model();
  EXPECT_THAT(albert.find("albert.embeddings.word_embeddings.weight")->shape, ElementsAre(5, 2));
  EXPECT_THAT(albert.find("albert.encoder.embedding_hidden_mapping_in.weight")->shape,
              ElementsAre(4, 2));
  EXPECT_THAT(albert.find("albert.encoder.albert_layer_groups.0.albert_layers.0.ffn.weight")->shape,
              ElementsAre(8, 4));
  EXPECT_NE(albert.find("classifier.weight"), nullptr);
}

TEST_F(MadeUpCheckpoint, OfAlbertZhIsRefused) {
  add("bert/encoder/layer_shared/output/dense/kernel", {4, 4});
  EXPECT_THAT([&] { model(); }, ThrowsCode(Code::kBadData, "albert_zh"));
}

TEST_F(MadeUpCheckpoint, NamesAKernelThatIsNoMatrix) {
  add("bert/pooler/dense/kernel", {4});
  EXPECT_THAT([&] { model(); }, ThrowsCode(Code::kBadData, "\"bert/pooler/dense/kernel\""));
}

TEST_F(MadeUpCheckpoint, NamesVariablesThatMapToOneName) {
  add("bert/pooler/dense/bias", {4});
  add("module/bert/pooler/dense/bias", {4});
  EXPECT_THAT([&] { model(); }, ThrowsCode(Code::kBadData, "\"module/bert/pooler/dense/bias\""));
}

TEST_F(MadeUpCheckpoint, PrefersThePoolerOfTheHead) {
  const std::string end = "/.ATTRIBUTES/VARIABLE_VALUE";
  add("encoder/_position_embedding_layer/embeddings" + end, {7, 4});
  add("encoder/_pooler_layer/bias" + end, {3});
  add("next_sentence..pooler_dense/bias" + end, {4});
  const TensorflowModel both = model();
  EXPECT_THAT(both.find("bert.pooler.dense.bias")->shape, ElementsAre(4));
  EXPECT_THAT(both.ignored(), ElementsAre("encoder/_pooler_layer/bias" + end));
}

TEST(TensorflowVariables, AreThoseThatTheModelCameFrom) {
  const BundleFiles files = recorded_bundle("tf1");
  const TensorBundleReader original = files.read(
      [&](const BundleEntry& entry) { return !is_training_state(files.parsed(), entry); });
  const TensorflowModel model = model_of(files);
  const ConvertedTensors whole(model);
  const TensorflowVariables variables(whole.tensors());
  ASSERT_EQ(variables.tensors().size(), original.tensors().size());
  for (const NamedTensor& tensor : original.tensors()) {
    const NamedTensor* found = variables.find(tensor.name);
    ASSERT_NE(found, nullptr) << tensor.name;
    EXPECT_EQ(found->shape, tensor.shape) << tensor.name;
    EXPECT_EQ(as_text(found->data), as_text(tensor.data)) << tensor.name;
  }
}

TEST(TensorflowVariables, LeaveOutWhatTensorFlowDerives) {
  const float zeros[4] = {};
  const NamedTensor tensors[] = {
      {.name = "bert.pooler.dense.bias", .shape = {4}, .data = std::as_bytes(std::span(zeros))},
      {.name = "bert.embeddings.position_ids", .shape = {1, 4}},
      {.name = "cls.predictions.decoder.weight", .shape = {4}},
      {.name = "cls.predictions.decoder.bias", .shape = {4}}};
  EXPECT_THAT(names_of(TensorflowVariables(tensors)), ElementsAre("bert/pooler/dense/bias"));
}

TEST(TensorflowVariables, RefuseAnotherArchitecture) {
  const NamedTensor tensor{.name = "roberta.embeddings.LayerNorm.weight", .shape = {0}};
  EXPECT_THAT([&] { TensorflowVariables(std::span(&tensor, 1)); },
              ThrowsCode(Code::kUsage, "roberta.embeddings.LayerNorm.weight"));
}

TEST(TensorflowVariables, HaveNoNameForSomeTensors) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(without_tensorflow_name(Names{"bert.pooler.dense.weight", "teacher_states.weight"}),
            "teacher_states.weight");
  EXPECT_EQ(without_tensorflow_name(Names{"bert.pooler.dense.weight", "classifier.bias",
                                          "cls.predictions.decoder.bias"}),
            std::nullopt);
  EXPECT_EQ(without_tensorflow_name(
                Names{"albert.encoder.albert_layer_groups.1.albert_layers.0.ffn.weight"}),
            std::nullopt);
}

TEST(Transposed, EveryElementSizeAndShape) {
  for (const size_t size : {1, 2, 4, 8}) {
    for (const auto& [rows, columns] : std::vector<std::pair<int64_t, int64_t>>{
             {1, 1}, {3, 5}, {33, 64}, {100, 31}, {300, 40}, {0, 4}, {4, 0}}) {
      std::vector<std::byte> matrix(static_cast<size_t>(rows * columns) * size);
      for (size_t i = 0; i < matrix.size(); ++i) matrix[i] = static_cast<std::byte>(i * 31 + i / 7);
      std::vector<std::byte> result;
      for (const auto& [first, count] : std::vector<std::pair<int64_t, int64_t>>{
               {0, columns}, {columns / 3, columns / 2}, {columns, 0}}) {
        transpose({matrix, rows, columns, size}, first, count, result);
        ASSERT_EQ(result.size(), static_cast<size_t>(rows * count) * size);
        for (int64_t row = 0; row < rows; ++row) {
          for (int64_t column = 0; column < count; ++column) {
            const auto from = static_cast<size_t>(row * columns + first + column) * size;
            const auto to = static_cast<size_t>(column * rows + row) * size;
            ASSERT_EQ(std::memcmp(&matrix[from], &result[to], size), 0);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace berth
