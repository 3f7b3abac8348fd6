#include "trainer/model/architecture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "tests/support/throws_code.h"
#include "trainer/model/config.h"
#include "trainer/model/lora.h"
#include "trainer/model/parameter_table.h"

namespace berth {
namespace {

TEST(Architectures, HaveDifferentNames) {
  std::set<std::string_view> names, titles;
  for (const Architecture& row : architectures()) {
    EXPECT_TRUE(names.insert(row.model_type).second) << row.model_type;
    EXPECT_TRUE(titles.insert(row.title).second) << row.title;
    EXPECT_EQ(&architecture(row.type), &row);
    EXPECT_TRUE(row.prefix.ends_with('.')) << row.prefix;
    EXPECT_NE(std::string_view(row.layer.layer).find('#'), std::string_view::npos);
  }
}

TEST(Architectures, AreAllNamedToWhoeverHasAnother) {
  EXPECT_THAT([] { parse_config(R"({"model_type": "gpt2"})"); },
              ThrowsCode(Code::kUsage, known_model_types()));
  EXPECT_TRUE(known_model_types().starts_with("bert, roberta, xlm-roberta, camembert, "));
}

// The sentence "berth trains BERT, RoBERTa, ... and NomicBERT." lists the table.
TEST(Architectures, AreThoseOfTheDocumentation) {
  std::ifstream file(BERTH_ROOT "/docs/models.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  const size_t first = page.find("berth trains ");
  std::string sentence = page.substr(first + 13, page.find(".\n", first) - first - 13);
  sentence = std::regex_replace(sentence, std::regex(R"(\([^)]*\)|\[|\])"), "");
  const std::regex name(R"([^,\s]+)");
  std::vector<std::string> documented, titles;
  for (std::sregex_iterator it(sentence.begin(), sentence.end(), name), end; it != end; ++it) {
    if (it->str() != "and") documented.push_back(it->str());
  }
  for (const Architecture& row : architectures()) titles.emplace_back(row.title);
  EXPECT_THAT(documented, testing::UnorderedElementsAreArray(titles));
}

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
  const OrderedJson older = {{"full_attention", {{"type", "linear"}, {"factor", 4.0}}}};
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
      {"rope_parameters", older},
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

// What the config.json of mpnet-base says, apart from its sizes.
ModelConfig small_mpnet_with(const std::string& key, const OrderedJson& value) {
  OrderedJson object = {{"architectures", {"MPNetForMaskedLM"}},
                        {"model_type", "mpnet"},
                        {"hidden_size", 12},
                        {"intermediate_size", 16},
                        {"layer_norm_eps", 1e-5},
                        {"max_position_embeddings", 514},
                        {"num_attention_heads", 3},
                        {"num_hidden_layers", 2},
                        {"pad_token_id", 1},
                        {"relative_attention_num_buckets", 32},
                        {"vocab_size", 30527}};
  object[key] = value;
  return parse_config(to_text(object));
}

TEST(MpnetConfig, ReadsAPublishedFile) {
  const ModelConfig config = small_mpnet_with("hidden_act", "gelu");
  EXPECT_EQ(config.type, ModelType::kMpnet);
  EXPECT_EQ(config.saved_task, Task::kMaskedLm);
  EXPECT_EQ(config.position_bias_buckets, 32);
  EXPECT_EQ(config.type_vocab_size, 0);
  EXPECT_EQ(config.max_sequence_length(), 512);
  EXPECT_EQ(config.layer_norm_eps, 1e-5);
  const auto written = parse_json(to_config_json(config));
  EXPECT_EQ(written["model_type"], "mpnet");
  EXPECT_FALSE(written.contains("type_vocab_size"));
}

TEST(MpnetConfig, AllLayersShareOneBiasThatDoesNotDecay) {
  const ModelConfig config = small_mpnet_with("hidden_act", "gelu");
  int tables = 0;
  for (const ParameterSpec& spec : parameter_table(config)) {
    if (spec.name != "mpnet.encoder.relative_attention_bias.weight") continue;
    ++tables;
    EXPECT_EQ(spec.shape, (std::vector<int64_t>{32, 3}));
    EXPECT_FALSE(spec.decays);
    EXPECT_EQ(spec.depth, 0) << "it is frozen with the embeddings";
  }
  EXPECT_EQ(tables, 1);
}

TEST(MpnetConfig, RefusesWhatTransformersWouldIgnore) {
  EXPECT_THAT([] { small_mpnet_with("relative_attention_num_buckets", 64); },
              ThrowsCode(Code::kUsage));
  EXPECT_THAT([] { small_mpnet_with("pad_token_id", 0); }, ThrowsCode(Code::kUsage));
}

// transformers does not read the key for these architectures.
TEST(ClassifierDropout, IsThatOfHiddenStatesWhereTransformersHasNoOther) {
  const auto dropout = [](std::string_view model_type) {
    OrderedJson object = {{"model_type", model_type},
                          {"vocab_size", 8},
                          {"hidden_size", 8},
                          {"num_hidden_layers", 1},
                          {"num_attention_heads", 2},
                          {"intermediate_size", 8},
                          {"max_position_embeddings", 16},
                          {"hidden_dropout_prob", 0.2},
                          {"classifier_dropout", 0.5}};
    const ModelConfig config = parse_config(to_text(object));
    EXPECT_EQ(parse_json(to_config_json(config))["classifier_dropout"], 0.5);
    return config.head_dropout();
  };
  EXPECT_EQ(dropout("bert"), 0.5);
  EXPECT_EQ(dropout("roformer"), 0.2);
  EXPECT_EQ(dropout("mpnet"), 0.2);
  EXPECT_EQ(dropout("megatron-bert"), 0.2);
}

TEST(ErnieConfig, HasTaskTypesWhereItsFileUsesThem) {
  OrderedJson object = {
      {"model_type", "ernie"},         {"vocab_size", 8},          {"hidden_size", 8},
      {"num_hidden_layers", 1},        {"num_attention_heads", 2}, {"intermediate_size", 8},
      {"max_position_embeddings", 16}, {"task_type_vocab_size", 5}};
  const std::string name = "ernie.embeddings.task_type_embeddings.weight";
  const auto rows = [&object, &name] {
    const std::vector<ParameterSpec> table = parameter_table(parse_config(to_text(object)));
    const auto found = std::ranges::find(table, name, &ParameterSpec::name);
    return found == table.end() ? 0 : found->shape[0];
  };
  EXPECT_EQ(rows(), 0);
  object["use_task_id"] = true;
  EXPECT_EQ(rows(), 5);
  object.erase("task_type_vocab_size");
  EXPECT_EQ(rows(), 3);
  object["use_task_id"] = 1;
  EXPECT_THAT(rows, ThrowsCode(Code::kUsage, "use_task_id"));
}

// What the config.json of xlm-roberta-xl leaves out.
TEST(XlmRobertaXlConfig, HasTheDefaultsAndTheDropoutOfTransformers) {
  const ModelConfig config = parse_config(R"({"model_type": "xlm-roberta-xl", "vocab_size": 8,
    "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 8,
    "max_position_embeddings": 514, "hidden_dropout_prob": 0.1})");
  EXPECT_EQ(config.type_vocab_size, 1);
  EXPECT_EQ(config.layer_norm_eps, 1e-5);
  EXPECT_EQ(config.max_sequence_length(), 512);
  EXPECT_EQ(config.attention_output_dropout(), 0.1);
  EXPECT_EQ(config.feed_forward_dropout(), 0);
}

// What the config.json of gatortron-base says of the network.
TEST(MegatronConfig, ReadsAPublishedFile) {
  ModelConfig config = parse_config(R"({
    "architectures": ["MegatronBertForMaskedLM"], "attention_probs_dropout_prob": 0.1,
    "gradient_checkpointing": false, "hidden_act": "gelu", "hidden_dropout_prob": 0.1,
    "hidden_size": 1024, "initializer_range": 0.02, "intermediate_size": 4096,
    "layer_norm_eps": 1e-12, "max_position_embeddings": 512, "model_type": "megatron-bert",
    "num_attention_heads": 16, "num_hidden_layers": 24, "pad_token_id": 0,
    "position_embedding_type": "absolute", "type_vocab_size": 2, "use_cache": true,
    "vocab_size": 50176})");
  EXPECT_EQ(config.type, ModelType::kMegatronBert);
  EXPECT_EQ(config.saved_task, Task::kMaskedLm);
  EXPECT_TRUE(config.normalizes_first);
  config.task = Task::kHiddenStates;
  std::set<std::string> names;
  for (const ParameterSpec& spec : parameter_table(config)) {
    names.insert(spec.name);
    if (spec.name != "bert.encoder.layer.0.attention.ln.weight") continue;
    EXPECT_EQ(spec.depth, 0) << "it is frozen with the embeddings";
  }
  EXPECT_FALSE(names.contains("bert.embeddings.LayerNorm.weight"));
  for (const char* name :
       {"bert.encoder.layer.0.attention.ln.weight", "bert.encoder.layer.23.attention.ln.bias",
        "bert.encoder.layer.23.ln.weight", "bert.encoder.ln.weight"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
  EXPECT_THAT([] { parse_config(R"({"model_type": "megatron-bert", "is_decoder": true})"); },
              ThrowsCode(Code::kUsage, "is_decoder"));
}

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
  // The keys of transformers 4, which version 5 reads as well.
  const OrderedJson older = {{"type", "linear"}, {"factor", 2.0}};
  EXPECT_THAT([&] { parse("rope_parameters", older); }, ThrowsCode(Code::kUsage));
  EXPECT_THAT([&] { parse("rope_scaling", older); }, ThrowsCode(Code::kUsage, "rope_scaling"));
  EXPECT_EQ(parse("rope_theta", 50.0).rope_base(0), 50);
}

TEST(RoFormerConfig, EmbeddingsWithoutASizeAreAsWideAsHiddenStates) {
  OrderedJson object = {{"model_type", "roformer"},    {"vocab_size", 8},
                        {"hidden_size", 12},           {"num_hidden_layers", 1},
                        {"num_attention_heads", 2},    {"intermediate_size", 8},
                        {"max_position_embeddings", 8}};
  EXPECT_EQ(parse_config(to_text(object)).embedding_width(), 12);
  object["embedding_size"] = nullptr;
  EXPECT_EQ(parse_config(to_text(object)).embedding_width(), 12);
  object["embedding_size"] = 4;
  EXPECT_EQ(parse_config(to_text(object)).embedding_width(), 4);
}

}  // namespace
}  // namespace berth
