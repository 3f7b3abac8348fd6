#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "storage/base/json.h"
#include "tests/support/throws_code.h"
#include "trainer/model/config.h"
#include "trainer/model/parameter_table.h"

namespace berth {
namespace {

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

}  // namespace
}  // namespace berth
