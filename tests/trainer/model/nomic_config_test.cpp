#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "storage/base/json.h"
#include "tests/support/throws_code.h"
#include "trainer/model/config.h"
#include "trainer/model/lora.h"
#include "trainer/model/parameter_table.h"

namespace berth {
namespace {

// What the config.json of nomic-embed-text-v1.5 says of the network.
OrderedJson published_nomic() {
  return {{"model_type", "nomic_bert"},
          {"activation_function", "swiglu"},
          {"architectures", {"NomicBertModel"}},
          {"attn_pdrop", 0.0},
          {"auto_map", {{"AutoModel", "nomic-ai/nomic-bert-2048--modeling.NomicBertModel"}}},
          {"causal", false},
          {"embd_pdrop", 0.0},
          {"initializer_range", 0.02},
          {"layer_norm_epsilon", 1e-12},
          {"mlp_fc1_bias", false},
          {"mlp_fc2_bias", false},
          {"n_embd", 768},
          {"n_head", 12},
          {"n_inner", 3072},
          {"n_layer", 12},
          {"n_positions", 8192},
          {"pad_vocab_size_multiple", 64},
          {"parallel_block", false},
          {"prenorm", false},
          {"qkv_proj_bias", false},
          {"resid_pdrop", 0.0},
          {"rotary_emb_base", 1000},
          {"rotary_emb_fraction", 1.0},
          {"rotary_emb_interleaved", false},
          {"rotary_emb_scale_base", nullptr},
          {"rotary_scaling_factor", nullptr},
          {"type_vocab_size", 2},
          {"use_rms_norm", false},
          {"vocab_size", 30522}};
}

ModelConfig published_nomic_with(const std::string& key, const OrderedJson& value) {
  OrderedJson object = published_nomic();
  object[key] = value;
  return parse_config(to_text(object));
}

TEST(NomicConfig, ReadsTheKeysOfNomicsCodeAndWritesThoseOfTransformers) {
  ModelConfig config = parse_config(to_text(published_nomic()));
  EXPECT_EQ(config.type, ModelType::kNomicBert);
  EXPECT_EQ(config.hidden_size, 768);
  EXPECT_EQ(config.num_hidden_layers, 12);
  EXPECT_EQ(config.intermediate_size, 3072);
  EXPECT_EQ(config.max_sequence_length(), 8192);
  EXPECT_EQ(config.vocab_size, 30528) << "a multiple of 64";
  EXPECT_EQ(config.hidden_act, Activation::kSilu);
  EXPECT_EQ(config.layer_norm_eps, 1e-12);
  EXPECT_EQ(config.hidden_dropout_prob, 0);
  EXPECT_EQ(config.rope_base(0), 1000);
  config.task = Task::kMaskedLm;
  const std::string text = to_config_json(config);
  const auto written = parse_json(text);
  EXPECT_FALSE(written.contains("n_embd"));
  EXPECT_FALSE(written.contains("auto_map")) << "Nomic's code cannot read these keys";
  EXPECT_EQ(written["hidden_size"], 768);
  EXPECT_EQ(written["rope_parameters"]["rope_theta"], 1000);
  EXPECT_EQ(written["architectures"][0], "NomicBertForMaskedLM");
  ModelConfig again = parse_config(text);
  again.task = Task::kMaskedLm;
  EXPECT_EQ(to_config_json(again), text);
}

TEST(NomicConfig, NomicsNameOfAClassTellsItsTask) {
  EXPECT_EQ(published_nomic_with("architectures", {"NomicBertForPreTraining"}).saved_task,
            Task::kMaskedLm);
}

TEST(NomicConfig, FilesOfNomicsCodeHaveAnotherPrefix) {
  const auto table = parameter_table(parse_config(to_text(published_nomic())));
  const auto qkv = std::ranges::find(table, "nomic_bert.encoder.layers.11.attn.Wqkv.weight",
                                     &ParameterSpec::name);
  ASSERT_NE(qkv, table.end());
  EXPECT_EQ(qkv->shape, (std::vector<int64_t>{2304, 768}));
  EXPECT_EQ(qkv->aliases, (std::vector<std::string>{"encoder.layers.11.attn.Wqkv.weight",
                                                    "bert.encoder.layers.11.attn.Wqkv.weight"}));
}

TEST(NomicConfig, AdaptersFitTheMatricesOfAGatedLayer) {
  const ModelConfig config = parse_config(to_text(published_nomic()));
  const std::string layer = "nomic_bert.encoder.layers.0.";
  EXPECT_EQ(lora_targets(config, {.rank = 1}, 0),
            (std::vector<LoraTarget>{{layer + "attn.Wqkv", LayerPart::kQuery, 768, 2304}}));
  EXPECT_EQ(lora_targets(config, {.rank = 1, .target_modules = "fc11, fc12"}, 0),
            (std::vector<LoraTarget>{{layer + "mlp.fc11", LayerPart::kIntermediate, 768, 3072},
                                     {layer + "mlp.fc12", LayerPart::kGate, 768, 3072}}));
}

TEST(NomicConfig, RefusesOtherNetworks) {
  for (const auto& [key, value] :
       std::vector<std::pair<std::string, OrderedJson>>{{"prenorm", true},
                                                        {"parallel_block", true},
                                                        {"qkv_proj_bias", true},
                                                        {"mlp_fc1_bias", true},
                                                        {"mlp_fc2_bias", true},
                                                        {"use_rms_norm", true},
                                                        {"causal", true},
                                                        {"norm_mlp", true},
                                                        {"rotary_emb_interleaved", true},
                                                        {"rotary_emb_fraction", 0.5},
                                                        {"rotary_emb_scale_base", 512},
                                                        {"rotary_scaling_factor", 2},
                                                        {"moe_every_n_layers", 2},
                                                        {"num_heads_kv", 4},
                                                        {"activation_function", "geglu"}}) {
    EXPECT_THAT([&] { published_nomic_with(key, value); }, ThrowsCode(Code::kUsage)) << key;
  }
}

TEST(NomicConfig, OfTransformersRefusesScaledPositionsAndOtherHeads) {
  const auto parse = [](const std::string& key, const OrderedJson& value) {
    OrderedJson object = {
        {"model_type", "nomic_bert"},  {"vocab_size", 8},          {"hidden_size", 8},
        {"num_hidden_layers", 1},      {"num_attention_heads", 2}, {"intermediate_size", 8},
        {"max_position_embeddings", 8}};
    object[key] = value;
    return parse_config(to_text(object));
  };
  EXPECT_EQ(parse("pad_token_id", 0).rope_base(0), 1000);
  EXPECT_THAT([&] { parse("head_dim", 8); }, ThrowsCode(Code::kUsage));
  EXPECT_THAT([&] { parse("num_attention_heads", 8); }, ThrowsCode(Code::kUsage));
  EXPECT_THAT(
      [&] {
        parse("rope_parameters", {{"rope_type", "dynamic"}, {"factor", 2.0}});
      },
      ThrowsCode(Code::kUsage));
}

}  // namespace
}  // namespace berth
