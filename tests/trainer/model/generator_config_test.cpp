#include <gtest/gtest.h>

#include <set>

#include "tests/support/throws_code.h"
#include "trainer/model/generator.h"
#include "trainer/model/parameter_table.h"

namespace berth {
namespace {

// google-research/electra's "small".
ModelConfig small() {
  ModelConfig config{.type = ModelType::kElectra,
                     .task = Task::kReplacedTokenDetection,
                     .vocab_size = 100,
                     .embedding_size = 128,
                     .hidden_size = 256,
                     .num_hidden_layers = 2,
                     .num_attention_heads = 4,
                     .intermediate_size = 1024,
                     .max_position_embeddings = 32};
  config.generator = scaled_generator(config, 0.25);
  return config;
}

TEST(GeneratorConfig, HasAFractionOfTheSizes) {
  const GeneratorSizes sizes = *small().generator;
  EXPECT_EQ(sizes.num_hidden_layers, 2);
  EXPECT_EQ(sizes.hidden_size, 64);
  EXPECT_EQ(sizes.num_attention_heads, 1);
  EXPECT_EQ(sizes.intermediate_size, 256);
  ModelConfig base = small();
  base.hidden_size = 768;
  base.num_attention_heads = 12;
  EXPECT_EQ(scaled_generator(base, 1.0 / 3).hidden_size, 256);
  EXPECT_EQ(scaled_generator(base, 1.0 / 3).num_attention_heads, 4);
  EXPECT_EQ(scaled_generator(base, 1e-6).hidden_size, 1);
  base.num_attention_heads = 10;  // 768 is no multiple of 10 / 4
  EXPECT_EQ(
      scaled_generator(base, 0.25).hidden_size % scaled_generator(base, 0.25).num_attention_heads,
      0);
}

TEST(GeneratorConfig, ASavedGeneratorMustHaveTheEmbeddings) {
  ModelConfig saved = small();
  saved.hidden_size = 32;
  EXPECT_EQ(saved_generator(small(), saved).hidden_size, 32);
  for (int64_t ModelConfig::*size :
       {&ModelConfig::vocab_size, &ModelConfig::embedding_size,
        &ModelConfig::max_position_embeddings, &ModelConfig::type_vocab_size}) {
    ModelConfig other = saved;
    other.*size += 1;
    EXPECT_THAT([&] { saved_generator(small(), other); }, ThrowsCode(Code::kUsage));
  }
  saved.type = ModelType::kBert;
  EXPECT_THAT([&] { saved_generator(small(), saved); }, ThrowsCode(Code::kUsage));
}

TEST(GeneratorConfig, TheTableNamesNothingTwice) {
  std::set<std::string> names;
  int64_t depth = 0;
  for (const ParameterSpec& spec : parameter_table(small())) {
    EXPECT_TRUE(names.insert(spec.name).second) << spec.name;
    EXPECT_GE(spec.depth, depth) << spec.name;
    depth = spec.depth;
    EXPECT_FALSE(spec.name.starts_with(kGeneratorPrefix) && spec.is_product) << spec.name;
  }
  EXPECT_TRUE(names.contains("generator.electra.embeddings_project.weight"));
  EXPECT_TRUE(names.contains("generator.generator_lm_head.bias"));
  EXPECT_TRUE(names.contains("discriminator_predictions.dense_prediction.weight"));
  EXPECT_FALSE(names.contains("generator.electra.embeddings.word_embeddings.weight"));
}

TEST(GeneratorTensors, HaveTheNamesOfAMaskedLanguageModelAndKeepTheSharedEmbeddings) {
  ModelConfig alone = generator_config(small());
  alone.is_generator = false;
  std::set<std::string> expected, found;
  for (const ParameterSpec& spec : parameter_table(alone)) expected.insert(spec.name);
  HostTensors all(parameter_table(small()));
  GeneratorTensors generator(small(), all);
  const std::vector<float> ones(100 * 128, 1.0f);
  for (size_t i = 0; i < generator.specs().size(); ++i) {
    const ParameterSpec& spec = generator.specs()[i];
    found.insert(spec.name);
    const bool is_shared = spec.name.starts_with("electra.embeddings.");
    generator.write(i, 0, std::as_bytes(std::span(ones).first(1)));
    EXPECT_EQ(generator.read(i)[0], is_shared ? 0.0f : 1.0f) << spec.name;
  }
  EXPECT_EQ(found, expected);
}

}  // namespace
}  // namespace berth
