#include "trainer/weights/model_garden_tables.h"

#include <vector>

namespace berth {
namespace {

using Layout = TensorflowLayout;

void add_dense(std::vector<ModelGardenRow>& rows, const std::string& key, const std::string& name,
               Layout layout = Layout::kInputsFirst) {
  rows.push_back({key + "/kernel", name + ".weight", layout});
  rows.push_back({key + "/bias", name + ".bias", Layout::kVector});
}

void add_norm(std::vector<ModelGardenRow>& rows, const std::string& key, const std::string& name) {
  rows.push_back({key + "/gamma", name + ".weight", Layout::kSame});
  rows.push_back({key + "/beta", name + ".bias", Layout::kSame});
}

const std::string kLayer = "bert.encoder.layer.{}.";

// By the attributes of BertEncoderV2 and of its TransformerEncoderBlock.
std::vector<ModelGardenRow> attribute_rows() {
  std::vector<ModelGardenRow> rows = {
      {"_embedding_layer/embeddings", "bert.embeddings.word_embeddings.weight", Layout::kSame},
      {"_position_embedding_layer/embeddings", "bert.embeddings.position_embeddings.weight",
       Layout::kSame},
      {"_type_embedding_layer/embeddings", "bert.embeddings.token_type_embeddings.weight",
       Layout::kSame}};
  add_norm(rows, "_embedding_norm_layer", "bert.embeddings.LayerNorm");
  add_dense(rows, "_embedding_projection", "bert.embeddings_project");
  const std::string block = "_transformer_layers/{}/";
  for (const std::string part : {"query", "key", "value"}) {
    add_dense(rows, block + "_attention_layer/_" + part + "_dense",
              kLayer + "attention.self." + part);
  }
  for (const std::string key : {"_attention_layer/_output_dense", "_attention_output_dense"}) {
    add_dense(rows, block + key, kLayer + "attention.output.dense", Layout::kOutputsLast);
  }
  add_norm(rows, block + "_attention_layer_norm", kLayer + "attention.output.LayerNorm");
  add_dense(rows, block + "_intermediate_dense", kLayer + "intermediate.dense");
  add_dense(rows, block + "_output_dense", kLayer + "output.dense");
  add_norm(rows, block + "_output_layer_norm", kLayer + "output.LayerNorm");
  add_dense(rows, "_pooler_layer", "bert.pooler.dense");
  return rows;
}

// The names of layers and variables, whatever attributes hold them.
std::vector<ModelGardenRow> full_name_rows() {
  std::vector<ModelGardenRow> rows = {
      {"word_embeddings/embeddings", "bert.embeddings.word_embeddings.weight", Layout::kSame},
      {"position_embedding/embeddings", "bert.embeddings.position_embeddings.weight",
       Layout::kSame},
      {"type_embeddings/embeddings", "bert.embeddings.token_type_embeddings.weight",
       Layout::kSame}};
  add_norm(rows, "embeddings/layer_norm", "bert.embeddings.LayerNorm");
  const std::string block = "transformer/layer_{}/";
  for (const std::string part : {"query", "key", "value"}) {
    add_dense(rows, block + "self_attention/" + part, kLayer + "attention.self." + part);
  }
  add_dense(rows, block + "self_attention/attention_output", kLayer + "attention.output.dense",
            Layout::kOutputsLast);
  add_norm(rows, block + "self_attention_layer_norm", kLayer + "attention.output.LayerNorm");
  add_dense(rows, block + "intermediate", kLayer + "intermediate.dense");
  add_dense(rows, block + "output", kLayer + "output.dense");
  add_norm(rows, block + "output_layer_norm", kLayer + "output.LayerNorm");
  add_dense(rows, "pooler_transform", "bert.pooler.dense");
  add_dense(rows, "pooler_dense", "bert.pooler.dense");  // of a head
  add_dense(rows, "next_sentence/logits", "cls.seq_relationship");
  add_dense(rows, "logits", "classifier");
  add_dense(rows, "cls/predictions/transform/dense", "cls.predictions.transform.dense");
  add_norm(rows, "cls/predictions/transform/LayerNorm", "cls.predictions.transform.LayerNorm");
  rows.push_back({"cls/predictions/output_bias/bias", "cls.predictions.bias", Layout::kSame});
  return rows;
}

// Where a head's out_proj is, its dense is the pooler: model_garden_names.cpp.
std::vector<ModelGardenRow> head_rows() {
  std::vector<ModelGardenRow> rows = {
      {"masked_lm/embedding_table", "bert.embeddings.word_embeddings.weight", Layout::kSame},
      {"masked_lm/output_bias.Sbias", "cls.predictions.bias", Layout::kSame},
      {"masked_lm/bias", "cls.predictions.bias", Layout::kSame},
  };
  add_dense(rows, "masked_lm/dense", "cls.predictions.transform.dense");
  add_norm(rows, "masked_lm/layer_norm", "cls.predictions.transform.LayerNorm");
  add_dense(rows, "next_sentence/out_proj", "cls.seq_relationship");
  add_dense(rows, "out_proj", "classifier");
  return rows;
}

}  // namespace

std::span<const ModelGardenRow> model_garden_attributes() {
  static const std::vector<ModelGardenRow> rows = attribute_rows();
  return rows;
}

std::span<const ModelGardenRow> model_garden_full_names() {
  static const std::vector<ModelGardenRow> rows = full_name_rows();
  return rows;
}

std::span<const ModelGardenRow> model_garden_heads() {
  static const std::vector<ModelGardenRow> rows = head_rows();
  return rows;
}

}  // namespace berth
