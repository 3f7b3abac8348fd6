#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "storage/base/json.h"
#include "tests/support/throws_code.h"
#include "trainer/model/config.h"

namespace berth {
namespace {

// The config.json of deberta-v3-base.
OrderedJson published() {
  return {{"model_type", "deberta-v2"},   {"attention_probs_dropout_prob", 0.1},
          {"hidden_act", "gelu"},         {"hidden_dropout_prob", 0.1},
          {"hidden_size", 768},           {"initializer_range", 0.02},
          {"intermediate_size", 3072},    {"max_position_embeddings", 512},
          {"relative_attention", true},   {"position_buckets", 256},
          {"norm_rel_ebd", "layer_norm"}, {"share_att_key", true},
          {"pos_att_type", "p2c|c2p"},    {"layer_norm_eps", 1e-7},
          {"max_relative_positions", -1}, {"position_biased_input", false},
          {"num_attention_heads", 12},    {"num_hidden_layers", 12},
          {"type_vocab_size", 0},         {"vocab_size", 128100}};
}

ModelConfig published_with(const std::string& key, const OrderedJson& value) {
  OrderedJson object = published();
  object[key] = value;
  return parse_config(to_text(object));
}

TEST(DebertaConfig, ReadsThePublishedModel) {
  const ModelConfig config = parse_config(to_text(published()));
  EXPECT_EQ(config.type, ModelType::kDebertaV2);
  EXPECT_EQ(config.relative_span(), 256);
  EXPECT_EQ(config.max_relative_positions, 512);
  EXPECT_TRUE(config.normalizes_relative_positions);
  EXPECT_FALSE(config.has_absolute_positions);
  EXPECT_EQ(config.pooler_act, Activation::kGelu);
  EXPECT_EQ(config.pooler_dropout(), 0);
  EXPECT_EQ(config.head_dropout(), 0.1);
  EXPECT_EQ(config.type_vocab_size, 0);
}

TEST(DebertaConfig, RefusesVariantsThatWereNeverPublished) {
  const std::pair<const char*, OrderedJson> kOthers[] = {
      {"relative_attention", false},  {"share_att_key", nullptr},
      {"pos_att_type", "c2p"},        {"pos_att_type", OrderedJson::array({"p2c"})},
      {"embedding_size", 128},        {"pooler_hidden_size", 512},
      {"attention_head_size", 32},    {"conv_kernel_size", 4},
      {"norm_rel_ebd", "batch_norm"}, {"position_buckets", 3},
      {"position_buckets", 1024},     {"pooler_hidden_act", "mish"},
  };
  for (const auto& [key, value] : kOthers) {
    EXPECT_THAT([&] { published_with(key, value); }, ThrowsCode(Code::kUsage, key));
  }
}

// deberta-v2-xlarge and xxlarge have these keys in addition.
TEST(DebertaConfig, ReadsTheConvolutionOfThePublishedXlarge) {
  OrderedJson object = published();
  EXPECT_EQ(parse_config(to_text(object)).conv_kernel_size, 0);
  object["conv_kernel_size"] = 3;
  EXPECT_EQ(parse_config(to_text(object)).conv_act, Activation::kTanh);  // transformers' default
  object["conv_act"] = "gelu";
  object["attention_head_size"] = 64;
  const ModelConfig config = parse_config(to_text(object));
  EXPECT_EQ(config.conv_kernel_size, 3);
  EXPECT_EQ(config.conv_act, Activation::kGelu);
  const OrderedJson written = parse_ordered_json(to_config_json(config));
  EXPECT_EQ(written.at("conv_kernel_size"), 3);
  EXPECT_EQ(written.at("conv_act"), "gelu");
}

TEST(DebertaConfig, RefusesAConvolutionInGroups) {
  OrderedJson object = published();
  object["conv_kernel_size"] = 3;
  object["conv_groups"] = 2;
  EXPECT_THAT([&] { parse_config(to_text(object)); }, ThrowsCode(Code::kUsage, "conv_groups"));
}

TEST(DebertaConfig, RefusesAConvolutionInAModelOfOneLayer) {
  OrderedJson object = published();
  object["conv_kernel_size"] = 3;
  object["num_hidden_layers"] = 1;
  EXPECT_THAT([&] { parse_config(to_text(object)); }, ThrowsCode(Code::kUsage, "conv_kernel_size"));
}

TEST(DebertaConfig, TakesThePositionTermsAsAList) {
  EXPECT_NO_THROW(published_with("pos_att_type", OrderedJson::array({"c2p", "p2c"})));
}

}  // namespace
}  // namespace berth
