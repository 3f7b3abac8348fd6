#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "storage/base/json.h"
#include "tests/support/throws_code.h"
#include "trainer/model/config.h"
#include "trainer/model/parameter_table.h"

namespace berth {
namespace {

// What the config.json of ModernBERT-base says, in the keys of transformers 4.
OrderedJson published_modernbert() {
  return {{"model_type", "modernbert"},
          {"attention_bias", false},
          {"attention_dropout", 0.0},
          {"classifier_activation", "gelu"},
          {"classifier_bias", false},
          {"classifier_dropout", 0.0},
          {"classifier_pooling", "mean"},
          {"decoder_bias", true},
          {"embedding_dropout", 0.0},
          {"global_attn_every_n_layers", 3},
          {"global_rope_theta", 160000.0},
          {"hidden_activation", "gelu"},
          {"hidden_size", 768},
          {"initializer_cutoff_factor", 2.0},
          {"initializer_range", 0.02},
          {"intermediate_size", 1152},
          {"local_attention", 128},
          {"local_rope_theta", 10000.0},
          {"max_position_embeddings", 8192},
          {"mlp_bias", false},
          {"mlp_dropout", 0.0},
          {"norm_bias", false},
          {"norm_eps", 1e-5},
          {"num_attention_heads", 12},
          {"num_hidden_layers", 22},
          {"pad_token_id", 50283},
          {"position_embedding_type", "absolute"},
          {"vocab_size", 50368}};
}

ModelConfig published_modernbert_with(const std::string& key, const OrderedJson& value) {
  OrderedJson object = published_modernbert();
  object[key] = value;
  return parse_config(to_text(object));
}

TEST(ModernBertConfig, HalfAWindowComesBeforeTheWhole) {
  EXPECT_EQ(published_modernbert_with("sliding_window", 2).attention_window(1), 2);
  EXPECT_EQ(published_modernbert_with("sliding_window", nullptr).attention_window(1), 64);
}

TEST(ModernBertConfig, ReadsThePublishedModel) {
  const ModelConfig config = parse_config(to_text(published_modernbert()));
  EXPECT_EQ(config.type, ModelType::kModernBert);
  EXPECT_TRUE(config.normalizes_first && config.is_gated && config.pools_mean);
  EXPECT_FALSE(config.has_absolute_positions || config.has_norm_bias || config.has_mlp_bias);
  EXPECT_EQ(config.type_vocab_size, 0);
  EXPECT_EQ(config.layer_norm_eps, 1e-5);
  EXPECT_EQ(config.head_dropout(), 0);
  EXPECT_EQ(config.attention_window(0), -1);
  EXPECT_EQ(config.attention_window(1), 64);
  EXPECT_EQ(config.attention_window(21), -1);
  EXPECT_EQ(config.rope_base(0), 160000);
  EXPECT_EQ(config.rope_base(2), 10000);
}

// 149,014,272 without a head, as transformers counts; the first layer has no attention norm.
TEST(ModernBertConfig, HasThePublishedParameters) {
  ModelConfig config = parse_config(to_text(published_modernbert()));
  config.task = Task::kHiddenStates;
  int64_t elements = 0;
  for (const ParameterSpec& spec : parameter_table(config)) {
    elements += spec.elements();
    EXPECT_NE(spec.name, "model.layers.0.attn_norm.weight");
    EXPECT_FALSE(spec.name.ends_with(".bias")) << spec.name;
  }
  EXPECT_EQ(elements, 149014272);
}

TEST(ModernBertConfig, ReadsTheKeysOfTransformers5) {
  OrderedJson object = published_modernbert();
  for (const char* older :
       {"global_rope_theta", "local_rope_theta", "global_attn_every_n_layers"}) {
    object.erase(older);
  }
  object["num_hidden_layers"] = 2;
  object["layer_types"] = {"sliding_attention", "full_attention"};
  object["rope_parameters"] = {
      {"full_attention", {{"rope_type", "default"}, {"rope_theta", 5000.0}}},
      {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", 300.0}}}};
  const ModelConfig config = parse_config(to_text(object));
  EXPECT_EQ(config.attention_window(0), 64);
  EXPECT_EQ(config.attention_window(1), -1);
  EXPECT_EQ(config.rope_base(0), 300);
  EXPECT_EQ(config.rope_base(1), 5000);
}

// As transformers 4 does.
TEST(ModernBertConfig, TakesALocalBaseOfNullAsTheGlobalOne) {
  EXPECT_EQ(published_modernbert_with("local_rope_theta", nullptr).local_rope_theta, 160000);
}

TEST(ModernBertConfig, RefusesWhatItDoesNotCompute) {
  const OrderedJson scaled = {{"full_attention", {{"rope_type", "yarn"}, {"rope_theta", 1e4}}}};
  const std::pair<const char*, OrderedJson> kOthers[] = {
      {"decoder_bias", false},
      {"classifier_pooling", "max"},
      {"num_attention_heads", 256},
      {"local_attention", 0},
      {"global_attn_every_n_layers", 0},
      {"layer_types", OrderedJson::array({"full_attention"})},
      {"layer_types", OrderedJson(std::vector<std::string>(22, "chunked_attention"))},
      {"layer_types", 3},
      {"rope_parameters", scaled},
      {"rope_scaling", {{"type", "linear"}}},
      {"norm_bias", 1},
      {"hidden_activation", "relu6"},
  };
  for (const auto& [key, value] : kOthers) {
    EXPECT_THAT([&] { published_modernbert_with(key, value); }, ThrowsCode(Code::kUsage, key))
        << key;
  }
}

TEST(ModernBertConfig, WritesNoKeyOfAnotherArchitecture) {
  const OrderedJson written =
      parse_ordered_json(to_config_json(parse_config(to_text(published_modernbert()))));
  for (const char* key : {"hidden_act", "type_vocab_size", "layer_norm_eps", "hidden_dropout_prob",
                          "attention_probs_dropout_prob"}) {
    EXPECT_FALSE(written.contains(key)) << key;
  }
}

// transformers' ModernBertPreTrainedModel draws what adds to the residual from a narrower normal
// distribution.
TEST(ModernBertConfig, GivesEachMatrixItsDeviation) {
  ModelConfig config = parse_config(to_text(published_modernbert()));
  config.labels = {"a", "b"};
  for (const ParameterSpec& spec : parameter_table(config)) {
    if (spec.initial != Initial::kNormal) continue;
    EXPECT_EQ(spec.cutoff, 2) << spec.name;
    const bool is_narrow = spec.name.ends_with("Wo.weight") || spec.name == "head.dense.weight";
    const double expected = spec.name == "classifier.weight" ? 0.0360844
                            : is_narrow                      ? 0.00301511
                                                             : 0;
    EXPECT_NEAR(spec.deviation, expected, 1e-7) << spec.name;
  }
}

}  // namespace
}  // namespace berth
