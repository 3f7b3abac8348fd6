#include "trainer/model/bert_config.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "storage/base/json.h"
#include "tests/support/tiny_config.h"
#include "trainer/model/config.h"

namespace berth {
namespace {

TEST(BertConfig, HasOnlyGooglesKeys) {
  const ModelConfig config = tiny_config();
  const auto json = parse_json(to_bert_config_json(config));
  EXPECT_EQ(json.size(), 11u);
  EXPECT_EQ(json.at("vocab_size"), config.vocab_size);
  EXPECT_EQ(json.at("hidden_act"), "gelu");
  EXPECT_EQ(json.at("initializer_range"), config.initializer_range);
}

TEST(BertConfig, IsReadBack) {
  const ModelConfig config = tiny_config();
  const ModelConfig back = parse_config(to_bert_config_json(config));
  EXPECT_EQ(back.hidden_size, config.hidden_size);
  EXPECT_EQ(back.num_hidden_layers, config.num_hidden_layers);
  EXPECT_EQ(back.num_attention_heads, config.num_attention_heads);
  EXPECT_EQ(back.intermediate_size, config.intermediate_size);
  EXPECT_EQ(back.max_position_embeddings, config.max_position_embeddings);
  EXPECT_EQ(back.type_vocab_size, config.type_vocab_size);
}

}  // namespace
}  // namespace berth
