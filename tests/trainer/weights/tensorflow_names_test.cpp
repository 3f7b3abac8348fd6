#include "trainer/weights/tensorflow_names.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

using Layout = TensorflowLayout;

std::string bert_name(std::string_view name) {
  const auto mapped = from_tensorflow1(name, TensorflowDialect::kBert);
  return mapped ? mapped->name : "";
}

std::string albert_name(std::string_view name) {
  const auto mapped = from_tensorflow1(name, TensorflowDialect::kAlbert);
  return mapped ? mapped->name : "";
}

TEST(TensorflowNames, AreThoseOfBertIn2018) {
  EXPECT_EQ(bert_name("bert/embeddings/token_type_embeddings"),
            "bert.embeddings.token_type_embeddings.weight");
  EXPECT_EQ(bert_name("bert/embeddings/LayerNorm/gamma"), "bert.embeddings.LayerNorm.weight");
  EXPECT_EQ(bert_name("bert/encoder/layer_11/attention/self/query/kernel"),
            "bert.encoder.layer.11.attention.self.query.weight");
  EXPECT_EQ(bert_name("bert/encoder/layer_0/output/LayerNorm/beta"),
            "bert.encoder.layer.0.output.LayerNorm.bias");
  EXPECT_EQ(bert_name("cls/predictions/transform/dense/bias"),
            "cls.predictions.transform.dense.bias");
  EXPECT_EQ(bert_name("cls/predictions/output_bias"), "cls.predictions.bias");
}

TEST(TensorflowNames, OutputsAreNotTransposed) {
  for (const auto& [tensorflow, hugging_face] : std::vector<std::pair<const char*, const char*>>{
           {"output_weights", "classifier.weight"},
           {"cls/squad/output_weights", "qa_outputs.weight"},
           {"cls/seq_relationship/output_weights", "cls.seq_relationship.weight"}}) {
    const auto mapped = from_tensorflow1(tensorflow, TensorflowDialect::kBert);
    ASSERT_TRUE(mapped) << tensorflow;
    EXPECT_EQ(mapped->name, hugging_face);
    EXPECT_EQ(mapped->layout, Layout::kSame);
  }
  EXPECT_EQ(from_tensorflow1("bert/pooler/dense/kernel", TensorflowDialect::kBert)->layout,
            Layout::kInputsFirst);
}

TEST(TensorflowNames, MayBeThoseOfAlbert) {
  const std::string layer = "bert/encoder/transformer/group_0/inner_group_0/";
  const std::string same = "albert.encoder.albert_layer_groups.0.albert_layers.0.";
  EXPECT_EQ(albert_name(layer + "attention_1/self/key/bias"), same + "attention.key.bias");
  EXPECT_EQ(albert_name(layer + "attention_1/output/dense/kernel"),
            same + "attention.dense.weight");
  EXPECT_EQ(albert_name(layer + "LayerNorm/beta"), same + "attention.LayerNorm.bias");
  EXPECT_EQ(albert_name(layer + "LayerNorm_1/beta"), same + "full_layer_layer_norm.bias");
  EXPECT_EQ(albert_name(layer + "ffn_1/intermediate/dense/kernel"), same + "ffn.weight");
  EXPECT_EQ(albert_name(layer + "ffn_1/intermediate/output/dense/kernel"),
            same + "ffn_output.weight");
  EXPECT_EQ(albert_name("bert/encoder/embedding_hidden_mapping_in/bias"),
            "albert.encoder.embedding_hidden_mapping_in.bias");
  EXPECT_EQ(albert_name("bert/pooler/dense/kernel"), "albert.pooler.weight");
  EXPECT_EQ(albert_name("bert/encoder/transformer/group_2/inner_group_0/LayerNorm/beta"),
            "albert.encoder.albert_layer_groups.2.albert_layers.0.attention.LayerNorm.bias");
}

TEST(TensorflowNames, MayHaveThePrefixOfAHubModule) {
  EXPECT_EQ(bert_name("module/bert/pooler/dense/bias"), "bert.pooler.dense.bias");
}

TEST(TensorflowNames, OfOtherVariablesAreUnknown) {
  for (const char* name :
       {"", "global_step", "bert/pooler/dense", "bert/encoder/layer_/output/dense",
        "bert/encoder/layer_x/output/dense/bias", "bert/pooler/dense/bias/adam_m",
        "bert/encoder/layer_0/output/dense/bias/adam_m"}) {
    EXPECT_EQ(bert_name(name), "") << name;
  }
}

TEST(TensorflowNames, GoBothWays) {
  for (const TensorflowDialect dialect : {TensorflowDialect::kBert, TensorflowDialect::kAlbert}) {
    for (const char* name :
         {"bert/embeddings/word_embeddings", "bert/pooler/dense/kernel", "output_bias",
          "cls/predictions/transform/LayerNorm/gamma", "cls/seq_relationship/output_weights",
          dialect == TensorflowDialect::kAlbert
              ? "bert/encoder/transformer/group_3/inner_group_0/ffn_1/intermediate/dense/kernel"
              : "bert/encoder/layer_3/intermediate/dense/kernel"}) {
      const auto there = from_tensorflow1(name, dialect);
      ASSERT_TRUE(there) << name;
      const auto back = to_tensorflow1(there->name, dialect);
      ASSERT_TRUE(back) << there->name;
      EXPECT_EQ(back->name, name);
      EXPECT_EQ(back->layout, there->layout);
    }
  }
  EXPECT_FALSE(to_tensorflow1("roberta.pooler.dense.weight", TensorflowDialect::kBert));
}

class ModelGardenNames : public testing::Test {
 protected:
  std::string name(const std::string& key) {
    keys_.insert(key);
    const auto names = model_garden_names(keys_, full_names_);
    const auto found = names.find(key);
    return found == names.end() ? "" : found->second.name;
  }

  std::set<std::string> keys_;
  std::map<std::string, std::string, std::less<>> full_names_;
};

TEST_F(ModelGardenNames, CountLayersFromTheFirstBlock) {
  for (const std::string prefix : {"", "encoder/", "model/layer_with_weights-0/"}) {
    keys_ = {prefix + "layer_with_weights-1/embeddings"};
    for (int i = 4; i < 16; ++i) {
      keys_.insert(prefix + "layer_with_weights-" + std::to_string(i) +
                   "/_attention_layer/_key_dense/bias");
    }
    EXPECT_EQ(name(prefix + "layer_with_weights-2/embeddings"),
              "bert.embeddings.token_type_embeddings.weight");
    EXPECT_EQ(name(prefix + "layer_with_weights-4/_output_dense/kernel"),
              "bert.encoder.layer.0.output.dense.weight");
    EXPECT_EQ(name(prefix + "layer_with_weights-15/_output_layer_norm/beta"),
              "bert.encoder.layer.11.output.LayerNorm.bias");
    EXPECT_EQ(name(prefix + "layer_with_weights-16/kernel"), "bert.pooler.dense.weight");
  }
}

TEST_F(ModelGardenNames, AProjectionShiftsTheNumbersOfTheBlocks) {
  keys_ = {"encoder/layer_with_weights-1/embeddings",
           "encoder/layer_with_weights-5/_attention_layer/_key_dense/bias"};
  EXPECT_EQ(name("encoder/layer_with_weights-4/kernel"), "bert.embeddings_project.weight");
  EXPECT_EQ(name("encoder/layer_with_weights-5/_intermediate_dense/bias"),
            "bert.encoder.layer.0.intermediate.dense.bias");
  EXPECT_EQ(name("encoder/layer_with_weights-6/kernel"), "bert.pooler.dense.weight");
}

TEST_F(ModelGardenNames, KnowTheHeads) {
  EXPECT_EQ(name("next_sentence..pooler_dense/kernel"), "bert.pooler.dense.weight");
  EXPECT_EQ(name("model/layer_with_weights-1/out_proj/kernel"), "classifier.weight");
  EXPECT_EQ(name("model/classifier/out_proj/bias"), "classifier.bias");
  EXPECT_EQ(name("next_sentence/out_proj/bias"), "cls.seq_relationship.bias");
  EXPECT_EQ(name("masked_lm/output_bias.Sbias"), "cls.predictions.bias");
  EXPECT_EQ(name("model/masked_lm/embedding_table"), "bert.embeddings.word_embeddings.weight");
}

TEST_F(ModelGardenNames, ADenseBesideAnOutputIsThePooler) {
  EXPECT_EQ(name("model/layer_with_weights-1/dense/kernel"), "");
  keys_.insert("model/layer_with_weights-1/out_proj/kernel");
  EXPECT_EQ(name("model/layer_with_weights-1/dense/kernel"), "bert.pooler.dense.weight");
  EXPECT_EQ(name("sentence_prediction..pooler_dense/bias"), "bert.pooler.dense.bias");
}

TEST_F(ModelGardenNames, TellTheHeadsByTheirFullNames) {
  full_names_ = {
      {"model/classification_heads/0/out_proj/kernel", "bert/next_sentence/logits/kernel"},
      {"model/classification_heads/1/out_proj/kernel", "bert/topic/logits/kernel"}};
  EXPECT_EQ(name("model/classification_heads/0/out_proj/kernel"), "cls.seq_relationship.weight");
  EXPECT_EQ(name("model/classification_heads/1/out_proj/kernel"), "classifier.weight");
}

TEST_F(ModelGardenNames, FallBackOnTheFullName) {
  full_names_ = {{"variables/0", "bert_encoder/transformer/layer_3/intermediate/kernel"},
                 {"variables/1", "something/else"}};
  EXPECT_EQ(name("variables/0"), "bert.encoder.layer.3.intermediate.dense.weight");
  EXPECT_EQ(name("variables/1"), "");
  EXPECT_EQ(name("variables/2"), "");
}

}  // namespace
}  // namespace berth
