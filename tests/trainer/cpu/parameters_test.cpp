#include "trainer/cpu/parameters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "storage/base/thread_pool.h"
#include "tests/support/throws_code.h"
#include "tests/support/tiny_config.h"
#include "tests/trainer/cpu/values_of.h"
#include "trainer/cpu/kernels/cpu_kernels.h"
#include "trainer/model/lora.h"
#include "trainer/model/parameter_tensors.h"

namespace berth {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;

using Shape = std::vector<int64_t>;

// The names are those of transformers' BertForSequenceClassification, except that query, key and
// value are one parameter.
TEST(ParameterTable, NamesAndShapesAreTransformers) {
  const std::pair<const char*, Shape> expected[] = {
      {"bert.embeddings.word_embeddings.weight", {32, 8}},
      {"bert.embeddings.position_embeddings.weight", {16, 8}},
      {"bert.embeddings.token_type_embeddings.weight", {2, 8}},
      {"bert.embeddings.LayerNorm.weight", {8}},
      {"bert.embeddings.LayerNorm.bias", {8}},
      {"bert.encoder.layer.0.attention.self.query.weight", {8, 8}},
      {"bert.encoder.layer.0.attention.self.key.weight", {8, 8}},
      {"bert.encoder.layer.0.attention.self.value.weight", {8, 8}},
      {"bert.encoder.layer.0.attention.self.query.bias", {8}},
      {"bert.encoder.layer.0.attention.self.key.bias", {8}},
      {"bert.encoder.layer.0.attention.self.value.bias", {8}},
      {"bert.encoder.layer.0.attention.output.dense.weight", {8, 8}},
      {"bert.encoder.layer.0.attention.output.dense.bias", {8}},
      {"bert.encoder.layer.0.attention.output.LayerNorm.weight", {8}},
      {"bert.encoder.layer.0.attention.output.LayerNorm.bias", {8}},
      {"bert.encoder.layer.0.intermediate.dense.weight", {12, 8}},
      {"bert.encoder.layer.0.intermediate.dense.bias", {12}},
      {"bert.encoder.layer.0.output.dense.weight", {8, 12}},
      {"bert.encoder.layer.0.output.dense.bias", {8}},
      {"bert.encoder.layer.0.output.LayerNorm.weight", {8}},
      {"bert.encoder.layer.0.output.LayerNorm.bias", {8}},
      {"bert.pooler.dense.weight", {8, 8}},
      {"bert.pooler.dense.bias", {8}},
      {"classifier.weight", {3, 8}},
      {"classifier.bias", {3}}};
  const std::vector<ParameterSpec> table = parameter_table(tiny_config(3));
  ASSERT_EQ(table.size(), std::size(expected));
  for (size_t i = 0; i < table.size(); ++i) {
    EXPECT_EQ(table[i].name, expected[i].first);
    EXPECT_EQ(table[i].shape, expected[i].second) << table[i].name;
  }
}

TEST(ParameterTable, EveryLayerRepeatsTheFirst) {
  ModelConfig config = tiny_config();
  const size_t one = parameter_table(config).size();
  config.num_hidden_layers = 12;
  const std::vector<ParameterSpec> table = parameter_table(config);
  EXPECT_EQ(table.size(), one + 11 * 16);
  EXPECT_EQ(table[table.size() - 5].name, "bert.encoder.layer.11.output.LayerNorm.bias");
}

TEST(ParameterTable, MatricesDecayAndBiasesAndLayerNormDoNot) {
  for (const ParameterSpec& spec : parameter_table(tiny_config())) {
    const bool norm = spec.name.find("LayerNorm") != std::string::npos;
    EXPECT_EQ(spec.decays, !norm && !spec.name.ends_with("bias")) << spec.name;
  }
}

TEST(ParameterTable, OnlyPoolerAndClassifierMayBeMissing) {
  for (const ParameterSpec& spec : parameter_table(tiny_config())) {
    EXPECT_EQ(spec.is_head,
              spec.name.starts_with("bert.pooler.") || spec.name.starts_with("classifier."))
        << spec.name;
  }
}

TEST(ParameterTable, AliasesAreTheNamesOfOlderAndBareFiles) {
  const std::vector<ParameterSpec> table = parameter_table(tiny_config());
  EXPECT_THAT(table[0].aliases, ElementsAre("embeddings.word_embeddings.weight"));
  EXPECT_THAT(table[3].aliases, Contains("bert.embeddings.LayerNorm.gamma"));
  EXPECT_THAT(table[3].aliases, Contains("embeddings.LayerNorm.gamma"));
  EXPECT_THAT(table[4].aliases, Contains("bert.embeddings.LayerNorm.beta"));
  EXPECT_TRUE(table.back().aliases.empty());  // classifier.bias has one name
}

class ParametersTest : public testing::Test {
 protected:
  std::vector<float> read(Tensor tensor) {
    std::vector<float> host(static_cast<size_t>(tensor.elements()));
    copy_out(tensor, host.data());
    return host;
  }
  Parameters make(bool with_gradients = true) {
    return Parameters(parameter_table(config_), with_gradients, *kernels_);
  }
  void initialize_all(Parameters& parameters, uint64_t seed) {
    std::vector<size_t> all(parameters.specs().size());
    std::iota(all.begin(), all.end(), size_t{0});
    initialize(parameters, all, config_.initializer_range, seed);
  }

  ModelConfig config_ = tiny_config();
  ThreadPool pool_{1};
  std::unique_ptr<Kernels> kernels_ = make_cpu_kernels(pool_);
};

TEST_F(ParametersTest, StartAsZerosWithoutGaps) {
  const Parameters parameters = make();
  int64_t size = 0;
  for (size_t i = 0; i < parameters.specs().size(); ++i) {
    EXPECT_EQ(parameters.offset(i), size);
    size += parameters.specs()[i].elements();
  }
  EXPECT_EQ(parameters.size(), size);
  EXPECT_THAT(read(parameters.values()), Each(0.0f));
  EXPECT_THAT(read(parameters.gradients()), Each(0.0f));
}

TEST_F(ParametersTest, QueryKeyAndValueAreOneMatrix) {
  Parameters parameters = make();
  const std::string self = "bert.encoder.layer.0.attention.self.";
  const Tensor all = parameters.parameter(self + "query.weight", 3).value();
  EXPECT_EQ(all.rows(), 24);
  EXPECT_EQ(all.columns(), 8);
  EXPECT_EQ(all.slice(8, 8).data, parameters.value(self + "key.weight").data);
  EXPECT_EQ(all.slice(16, 8).data, parameters.value(self + "value.weight").data);
  const Tensor biases = parameters.parameter(self + "query.bias", 3).gradient();
  EXPECT_EQ(biases.slice(16, 8).data, parameters.gradient(self + "value.bias").data);
}

TEST_F(ParametersTest, AnEvaluationHasNoGradients) {
  const Parameters parameters = make(false);
  EXPECT_FALSE(parameters.gradients());
  EXPECT_FALSE(parameters.gradient("classifier.bias"));
  EXPECT_TRUE(parameters.value("classifier.bias"));
}

TEST_F(ParametersTest, RowsThatAreOnlyLookedUpHaveMarks) {
  const std::string word = "bert.embeddings.word_embeddings.weight";
  ModelConfig config = tiny_config();
  Parameters parameters(parameter_table(config), true, *kernels_);
  const Tensor marks = parameters.marks(0);
  EXPECT_EQ(parameters.parameter(word).marks().data, marks.data);
  ASSERT_EQ(marks.rows(), config.vocab_size);
  EXPECT_EQ(marks.i32()[0], 0);
  parameters.mark_all_rows();
  EXPECT_EQ(marks.i32()[config.vocab_size - 1], kHasGradient | kHasMoments);
  EXPECT_FALSE(parameters.marks(1));
  EXPECT_FALSE(Parameters(parameter_table(config), false, *kernels_).marks(0));
  EXPECT_FALSE(Parameters(parameter_table(config, {.rank = 2}), true, *kernels_).marks(0));
  config.task = Task::kMaskedLm;  // its head gives every row a gradient
  EXPECT_FALSE(Parameters(parameter_table(config), true, *kernels_).marks(0));
}

TEST_F(ParametersTest, AnUnknownNameIsOurBug) {
  const Parameters parameters = make();
  EXPECT_THAT([&] { parameters.value("classifier.wait"); },
              ThrowsCode(Code::kInternal, "classifier.wait"));
}

TEST_F(ParametersTest, InitialBiasesAreZeroAndLayerNormIsTheIdentity) {
  Parameters parameters = make();
  initialize_all(parameters, 1);
  for (size_t i = 0; i < parameters.specs().size(); ++i) {
    const std::string& name = parameters.specs()[i].name;
    if (name.ends_with("LayerNorm.weight")) {
      EXPECT_THAT(read(parameters.value(i)), Each(1.0f)) << name;
    } else if (name.ends_with("bias")) {
      EXPECT_THAT(read(parameters.value(i)), Each(0.0f)) << name;
    } else {
      EXPECT_THAT(read(parameters.value(i)), Each(testing::Ne(0.0f))) << name;
    }
  }
}

TEST_F(ParametersTest, InitialMatricesAreNormal) {
  config_.vocab_size = 20000;
  Parameters parameters = make();
  initialize_all(parameters, 5);
  const std::vector<float> values = read(parameters.value(0));
  const auto n = static_cast<double>(values.size());
  double mean = 0, variance = 0, fourth = 0;
  for (const float value : values) mean += value / n;
  for (const float value : values) {
    variance += std::pow(value - mean, 2) / n;
    fourth += std::pow(value - mean, 4) / n;
  }
  // The tolerance is five standard errors of 160,000 draws.
  EXPECT_NEAR(mean, 0, 5 * 0.2 / std::sqrt(n));
  EXPECT_NEAR(std::sqrt(variance), 0.2, 5 * 0.2 / std::sqrt(2 * n));
  EXPECT_NEAR(fourth / (variance * variance), 3, 5 * std::sqrt(24 / n));
}

TEST_F(ParametersTest, TheSeedDecidesTheInitialValues) {
  Parameters first = make(), second = make(), third = make();
  initialize_all(first, 7);
  initialize_all(second, 7);
  initialize_all(third, 7 + (uint64_t{1} << 32));
  EXPECT_EQ(read(first.values()), read(second.values()));
  EXPECT_NE(read(first.value(0)), read(third.value(0)));
}

TEST_F(ParametersTest, AParametersInitialValuesDoNotDependOnItsNeighbours) {
  Parameters small = make();
  initialize_all(small, 7);
  config_.num_hidden_layers = 3;
  config_.vocab_size = 50;
  Parameters large = make();
  initialize_all(large, 7);
  for (const char* name : {"bert.pooler.dense.weight", "classifier.weight",
                           "bert.encoder.layer.0.intermediate.dense.weight"}) {
    EXPECT_EQ(read(small.value(name)), read(large.value(name))) << name;
  }
  EXPECT_NE(read(large.value("bert.encoder.layer.0.intermediate.dense.weight")),
            read(large.value("bert.encoder.layer.1.intermediate.dense.weight")));
}

TEST_F(ParametersTest, InitializesOnlyWhatItIsToldTo) {
  Parameters parameters = make();
  const size_t last = parameters.specs().size() - 2;  // classifier.weight
  initialize(parameters, std::vector<size_t>{last}, 0.2, 1);
  EXPECT_THAT(read(parameters.value(last)), Each(testing::Ne(0.0f)));
  EXPECT_THAT(read(parameters.value(last - 2)), Each(0.0f));
}

TEST_F(ParametersTest, AHandleIsTheSameForTheSameName) {
  Parameters parameters = make();
  const std::string query = "bert.encoder.layer.0.attention.self.query.weight";
  Parameter& all = parameters.factor(query, 3);
  EXPECT_EQ(&parameters.parameter(query, 3), &all);
  EXPECT_NE(&parameters.parameter(query, 2), &all);  // a part of the same values
  EXPECT_EQ(parameters.parameter(query, 2).value().data, all.value().data);
  EXPECT_EQ(parameters.handles().size(), 2u);
}

TEST_F(ParametersTest, OnlyTrainedParametersHaveGradientsAndMoments) {
  const LoraOptions none;
  const std::vector<ParameterSpec> table = parameter_table(config_, none, /*first_depth=*/1);
  const Parameters parameters(table, true, *kernels_);
  const auto fp32 = [](int64_t elements) { return static_cast<size_t>(elements) * sizeof(float); };
  const ParameterBytes bytes = parameters.bytes();
  EXPECT_EQ(bytes.values, fp32(total_elements(table)));
  EXPECT_EQ(bytes.gradients, fp32(trained_elements(table)));
  EXPECT_EQ(bytes.moments, 2 * bytes.gradients);
  EXPECT_LT(bytes.gradients, bytes.values);
  EXPECT_EQ(parameters.first_trained(), 5u);  // the first one after the embeddings
  EXPECT_FALSE(parameters.second_moment(4));
  EXPECT_TRUE(parameters.second_moment(5));
  EXPECT_FALSE(parameters.marks(0));
}

TEST_F(ParametersTest, APlanKnowsTheSizeOfTheParameters) {
  const ParameterBytes bytes = make().bytes();
  Parameters plan = Parameters::plan(parameter_table(config_), true, *kernels_);
  EXPECT_FALSE(plan.values());
  EXPECT_FALSE(plan.factor("classifier.weight").value());
  EXPECT_EQ(plan.bytes().values, bytes.values);
  EXPECT_EQ(plan.bytes().gradients, bytes.gradients);
  EXPECT_EQ(plan.bytes().moments, bytes.moments);
}

// Clearing does not write to rows without moments, so those rows take no memory.
TEST_F(ParametersTest, ClearingMomentsSkipsRowsThatHaveNone) {
  Parameters parameters = make();
  const std::vector<float> ones(static_cast<size_t>(parameters.first_moments().elements()), 1);
  copy_in(parameters.first_moments(), ones.data());
  copy_in(parameters.second_moments(), ones.data());
  parameters.marks(0).i32()[3] = kHasMoments;
  parameters.marks(0).i32()[4] = kHasGradient;
  parameters.clear_moments();
  for (size_t i = 0; i < parameters.specs().size(); ++i) {
    for (const Tensor& moments : {parameters.first_moment(i), parameters.second_moment(i)}) {
      const std::vector<float> left = read(moments);
      for (size_t at = 0; at < left.size(); ++at) {
        const bool is_skipped = i == 0 && at / 8 != 3;  // rows of 8
        ASSERT_EQ(left[at], is_skipped ? 1.0f : 0.0f) << parameters.specs()[i].name << " " << at;
      }
    }
  }
}

TEST_F(ParametersTest, FreezingTheLastParameterIsOurBug) {
  std::vector<ParameterSpec> table = parameter_table(config_);
  table.back().trains = false;
  EXPECT_THAT([&] { Parameters(table, true, *kernels_); }, ThrowsCode(Code::kInternal));
}

}  // namespace
}  // namespace berth
