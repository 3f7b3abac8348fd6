#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/support/throws_code.h"
#include "tests/support/tiny_config.h"
#include "tests/trainer/onnx/interpreter.h"
#include "tests/trainer/onnx/recorded_model.h"
#include "trainer/model/generator.h"
#include "trainer/weights/initial_values.h"

namespace berth::onnx {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr int64_t kFloat = 1, kInt64 = 7;

ReadPort ids(const std::string& name) {
  return {.name = name, .type = kInt64, .shape = {"batch_size", "sequence_length"}};
}

// The initializers with `elements` elements.
std::vector<std::string> with_elements(const ReadModel& model, int64_t elements) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : model.initializers) {
    int64_t count = 1;
    for (const int64_t dim : tensor.dims) count *= dim;
    if (count == elements) names.push_back(name);
  }
  return names;
}

class OnnxModels : public testing::TestWithParam<std::string> {};

// onnx/docs/IR.md: nodes are sorted topologically, and each name is given once.
TEST_P(OnnxModels, NodesReadWhatIsThere) {
  const ReadModel model = RecordedModel(GetParam()).written();
  std::set<std::string> names, nodes;
  for (const ReadPort& input : model.inputs) names.insert(input.name);
  for (const auto& [name, tensor] : model.initializers) {
    EXPECT_TRUE(names.insert(name).second) << name;
  }
  EXPECT_EQ(model.initializers.size(), model.initializer_fields);
  std::set<std::string> unread = names;
  for (const ReadNode& node : model.nodes) {
    EXPECT_TRUE(nodes.insert(node.name).second) << node.name;
    for (const std::string& input : node.inputs) {
      EXPECT_TRUE(names.contains(input)) << node.name << " reads " << input;
      unread.erase(input);
    }
    for (const std::string& output : node.outputs) {
      EXPECT_TRUE(names.insert(output).second) << output;
      unread.insert(output);
    }
  }
  for (const ReadPort& output : model.outputs) {
    EXPECT_TRUE(names.contains(output.name)) << output.name;
    unread.erase(output.name);
  }
  EXPECT_THAT(unread, IsEmpty());
}

TEST_P(OnnxModels, HoldEveryParameterOnce) {
  const RecordedModel recorded(GetParam());
  int64_t held = 0;
  for (const auto& [name, tensor] : recorded.written().initializers) {
    int64_t elements = 1;
    for (const int64_t dim : tensor.dims) elements *= dim;
    EXPECT_EQ(tensor.values().size(), static_cast<size_t>(elements)) << name;
    if (!name.starts_with("constant_")) held += elements;
  }
  EXPECT_EQ(held, total_elements(recorded.values->specs()));
}

INSTANTIATE_TEST_SUITE_P(Architectures, OnnxModels, testing::ValuesIn(kRecordedCases), test_name);

TEST(OnnxModel, SaysWhoWroteItAndForWhichOperators) {
  const ReadModel model = RecordedModel("bert-sequence").written();
  EXPECT_EQ(model.producer_name, "berth");
  EXPECT_FALSE(model.producer_version.empty());
  EXPECT_EQ(model.ir_version, 8);
  EXPECT_EQ(model.opset, 17);
}

TEST(OnnxModel, HasTheInputsThatTheTokenizersGive) {
  const auto inputs_of = [](const char* name) { return RecordedModel(name).written().inputs; };
  const auto with_types =
      ElementsAre(ids("input_ids"), ids("attention_mask"), ids("token_type_ids"));
  const auto without_types = ElementsAre(ids("input_ids"), ids("attention_mask"));
  for (const char* name :
       {"bert-token", "electra-qa", "albert-masked", "deberta-v2-biased-sequence"}) {
    EXPECT_THAT(inputs_of(name), with_types) << name;
  }
  for (const char* name :
       {"roberta-sequence", "xlm-roberta-qa", "distilbert-token", "deberta-v2-sequence"}) {
    EXPECT_THAT(inputs_of(name), without_types) << name;
  }
}

TEST(OnnxModel, HasTheOutputsOfItsTask) {
  const auto outputs_of = [](const char* name) { return RecordedModel(name).written().outputs; };
  const auto logits = [](std::vector<std::string> shape, std::string name = "logits") {
    return ReadPort{.name = std::move(name), .type = kFloat, .shape = std::move(shape)};
  };
  EXPECT_THAT(outputs_of("bert-sequence"), ElementsAre(logits({"batch_size", "3"})));
  EXPECT_THAT(outputs_of("bert-score"), ElementsAre(logits({"batch_size", "1"})));
  EXPECT_THAT(outputs_of("bert-token"),
              ElementsAre(logits({"batch_size", "sequence_length", "3"})));
  EXPECT_THAT(outputs_of("bert-masked"),
              ElementsAre(logits({"batch_size", "sequence_length", "23"})));
  EXPECT_THAT(outputs_of("bert-qa"),
              ElementsAre(logits({"batch_size", "sequence_length"}, "start_logits"),
                          logits({"batch_size", "sequence_length"}, "end_logits")));
}

TEST(OnnxModel, HasTheHiddenStatesOfAnEncoderWithoutAHead) {
  for (const Task task :
       {Task::kHiddenStates, Task::kEmbeddingDistillation, Task::kHiddenStateDistillation}) {
    ModelConfig config = tiny_config();
    config.task = task;
    config.vector_size = 4;
    const HostTensors values(parameter_table(config));
    const auto graph = make_graph(config, values.specs(), DType::kF32);
    ASSERT_EQ(graph->outputs().size(), 1U);
    EXPECT_EQ(graph->outputs()[0].name, "last_hidden_state");
    EXPECT_EQ(graph->outputs()[0].shape.back(), Dimension(config.hidden_size));
    for (const Initializer& initializer : graph->initializers()) {
      EXPECT_THAT(initializer.name, testing::Not(testing::HasSubstr("teacher")));
    }
  }
}

// The tokenizer of multilingual-e5, which is a BERT, gives no token types.
TEST(OnnxModel, HasNoTokenTypesWhereTheTokenizerGivesNone) {
  ModelConfig config = tiny_config();
  config.task = Task::kHiddenStates;
  const HostTensors values(parameter_table(config));
  EXPECT_EQ(make_graph(config, values.specs(), DType::kF32)->inputs().size(), 3U);
  const auto graph = make_graph(config, values.specs(), DType::kF32, /*gives_types=*/false);
  ASSERT_EQ(graph->inputs().size(), 2U);
  EXPECT_EQ(graph->inputs()[1].name, "attention_mask");
}

// A RoBERTa with two token types may have BERT's tokenizer.
TEST(OnnxModel, HasTheTokenTypesOfARobertaWithSeveral) {
  ModelConfig config = tiny_config();
  config.type = ModelType::kRoberta;
  config.task = Task::kHiddenStates;
  for (const int64_t types : {1, 2}) {
    config.type_vocab_size = types;
    const HostTensors values(parameter_table(config));
    EXPECT_EQ(make_graph(config, values.specs(), DType::kF32)->inputs().size(), types + 1U);
    EXPECT_EQ(make_graph(config, values.specs(), DType::kF32, false)->inputs().size(), 2U);
  }
}

TEST(OnnxModel, HasBothNetworksOfAnElectraAsModelsOfTheirOwn) {
  ModelConfig config = tiny_config();
  config.type = ModelType::kElectra;
  config.embedding_size = 4;
  config.task = Task::kReplacedTokenDetection;
  config.generator = scaled_generator(config, 0.5);
  const HostTensors values(parameter_table(config));
  const auto discriminator = make_graph(config, values.specs(), DType::kF32);
  EXPECT_EQ(discriminator->outputs()[0].shape.size(), 2U);
  for (const Initializer& initializer : discriminator->initializers()) {
    EXPECT_FALSE(initializer.name.starts_with(kGeneratorPrefix)) << initializer.name;
  }
  const GeneratorTensors own(config, values);
  ModelConfig alone = generator_config(config);
  alone.is_generator = false;  // in its own file, names have no prefix
  const auto generator = make_graph(alone, own.specs(), DType::kF32);
  EXPECT_EQ(generator->outputs()[0].shape.back(), Dimension(config.vocab_size));
}

TEST(OnnxModel, HoldsTiedAndSharedParametersOnce) {
  const RecordedModel masked("albert-masked");  // three layers in two groups
  EXPECT_THAT(with_elements(masked.written(), 23 * 4),
              ElementsAre("albert.embeddings.word_embeddings.weight"));
  EXPECT_THAT(with_elements(masked.written(), 12 * 8).size(), 2 * 2);
}

TEST(OnnxModel, HoldsDenseMatricesTransposed) {
  const RecordedModel recorded("bert-sequence");
  const std::string name = "bert.encoder.layer.0.intermediate.dense.weight";
  const ReadTensor written = recorded.written().initializers.at(name + "_transposed");
  const auto rows = recorded_values<float>(recorded.recorded, "param." + name);
  EXPECT_THAT(written.dims, ElementsAre(8, 12));
  for (size_t row = 0; row < 12; ++row) {
    for (size_t column = 0; column < 8; ++column) {
      EXPECT_EQ(written.values()[column * 12 + row], double{rows[row * 8 + column]});
    }
  }
}

// Whole blocks of a transposed matrix, and a part of one.
TEST(OnnxModel, TransposesLargeMatrices) {
  ModelConfig config = tiny_config();
  config.hidden_size = 520;
  config.intermediate_size = 1030;
  config.num_attention_heads = 4;
  HostTensors values(parameter_table(config));
  const std::string name = "bert.encoder.layer.0.intermediate.dense.weight";
  const auto spec = std::ranges::find(values.specs(), name, &ParameterSpec::name);
  std::vector<float> numbers(520 * 1030);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i);
  values.write(static_cast<size_t>(spec - values.specs().begin()), 0,
               std::as_bytes(std::span(numbers)));
  const auto graph = make_graph(config, values.specs(), DType::kF32);
  MemorySink sink;
  ModelWriter(*graph, values, "data").write_model(sink);
  const auto written = read_model(sink.written).initializers.at(name + "_transposed").values();
  for (size_t i = 0; i < written.size(); i += 97) {
    EXPECT_EQ(written[i], static_cast<double>(i % 1030 * 520 + i / 1030)) << i;
  }
}

TEST(OnnxModel, RefusesNumbersThatDoNotFit) {
  const ModelConfig config = tiny_config();
  HostTensors values(parameter_table(config));
  const float large = 70'000;
  values.write(0, 3, std::as_bytes(std::span(&large, 1)));
  const auto graph = make_graph(config, values.specs(), DType::kF16);
  MemorySink sink;
  EXPECT_THAT([&] { ModelWriter(*graph, values, "data").write_model(sink); },
              ThrowsCode(Code::kBadData));
}

class DataFiles : public testing::Test {
 protected:
  DataFiles() {
    config_.hidden_size = 16;
    config_.intermediate_size = 24;
    values_ = std::make_unique<HostTensors>(parameter_table(config_));
    initialize(*values_, config_.initializer_range, /*seed=*/1, /*threads=*/1);
    graph_ = make_graph(config_, values_->specs(), DType::kF32);
  }

  ModelConfig config_ = tiny_config();
  std::unique_ptr<HostTensors> values_;
  std::unique_ptr<Graph> graph_;
};

TEST_F(DataFiles, HoldTheParametersOfLargeModels) {
  const ModelWriter one(*graph_, *values_, "model.onnx_data");
  EXPECT_FALSE(one.has_data_file());
  const ModelWriter two(*graph_, *values_, "model.onnx_data", one.model_bytes() - 1);
  ASSERT_TRUE(two.has_data_file());
  MemorySink whole, model, data;
  one.write_model(whole);
  two.write_model(model);
  two.write_data(data);
  EXPECT_EQ(whole.written.size(), one.model_bytes());
  EXPECT_EQ(model.written.size(), two.model_bytes());
  EXPECT_EQ(data.written.size(), two.data_bytes());
  EXPECT_LT(model.written.size(), whole.written.size());

  const ReadModel expected = read_model(whole.written);
  const ReadModel found = read_model(model.written, data.written);
  size_t external = 0;
  for (const auto& [name, tensor] : found.initializers) {
    EXPECT_EQ(tensor.elements, expected.initializers.at(name).elements) << name;
    EXPECT_EQ(tensor.dims, expected.initializers.at(name).dims) << name;
    if (tensor.external.empty()) continue;
    ++external;
    EXPECT_EQ(tensor.external.at("location"), "model.onnx_data");
    EXPECT_EQ(std::stoul(tensor.external.at("offset")) % 4096, 0U) << name;
    EXPECT_FALSE(name.starts_with("constant_")) << name;
  }
  // The tables of words and of positions, and the dense matrices of a layer and the pooler.
  EXPECT_EQ(external, 9U);
}

TEST_F(DataFiles, AreNotNeededWhereTheModelJustFits) {
  const ModelWriter one(*graph_, *values_, "data");
  EXPECT_FALSE(ModelWriter(*graph_, *values_, "data", one.model_bytes()).has_data_file());
}

TEST_F(DataFiles, CanBeWrittenAgain) {
  const ModelWriter writer(*graph_, *values_, "data", 1000);
  MemorySink first, second;
  writer.write_data(first);
  writer.write_data(second);
  EXPECT_EQ(first.written, second.written);
}

}  // namespace
}  // namespace berth::onnx
