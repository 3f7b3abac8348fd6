#include "trainer/weights/tensorflow_names.h"

#include <vector>

namespace berth {
namespace {

struct Row {
  std::string tensorflow, hugging_face;
  TensorflowLayout layout;
};

class Rows {
 public:
  void same(const std::string& tensorflow, const std::string& hugging_face) {
    rows_.push_back({tensorflow, hugging_face, TensorflowLayout::kSame});
  }
  void dense(const std::string& tensorflow, const std::string& hugging_face) {
    rows_.push_back(
        {tensorflow + "/kernel", hugging_face + ".weight", TensorflowLayout::kInputsFirst});
    same(tensorflow + "/bias", hugging_face + ".bias");
  }
  void norm(const std::string& tensorflow, const std::string& hugging_face) {
    same(tensorflow + "/gamma", hugging_face + ".weight");
    same(tensorflow + "/beta", hugging_face + ".bias");
  }
  // BERT's code makes these variables directly and not through a layer: logits = x W^T + b.
  void output(const std::string& tensorflow, const std::string& hugging_face) {
    same(tensorflow + "output_weights", hugging_face + ".weight");
    same(tensorflow + "output_bias", hugging_face + ".bias");
  }
  void embeddings(const std::string& tensorflow, const std::string& hugging_face) {
    for (const std::string part : {"word", "position", "token_type"}) {
      same(tensorflow + "/" + part + "_embeddings",
           hugging_face + "." + part + "_embeddings.weight");
    }
    norm(tensorflow + "/LayerNorm", hugging_face + ".LayerNorm");
  }

  std::vector<Row> take() { return std::move(rows_); }

 private:
  std::vector<Row> rows_;
};

std::vector<Row> bert_rows() {
  Rows rows;
  rows.embeddings("bert/embeddings", "bert.embeddings");
  const std::string from = "bert/encoder/layer_{}/", to = "bert.encoder.layer.{}.";
  for (const std::string part : {"query", "key", "value"}) {
    rows.dense(from + "attention/self/" + part, to + "attention.self." + part);
  }
  rows.dense(from + "attention/output/dense", to + "attention.output.dense");
  rows.norm(from + "attention/output/LayerNorm", to + "attention.output.LayerNorm");
  rows.dense(from + "intermediate/dense", to + "intermediate.dense");
  rows.dense(from + "output/dense", to + "output.dense");
  rows.norm(from + "output/LayerNorm", to + "output.LayerNorm");
  rows.dense("bert/pooler/dense", "bert.pooler.dense");
  rows.dense("cls/predictions/transform/dense", "cls.predictions.transform.dense");
  rows.norm("cls/predictions/transform/LayerNorm", "cls.predictions.transform.LayerNorm");
  rows.same("cls/predictions/output_bias", "cls.predictions.bias");
  rows.output("cls/seq_relationship/", "cls.seq_relationship");
  rows.output("cls/squad/", "qa_outputs");
  rows.output("", "classifier");
  return rows.take();
}

std::vector<Row> albert_rows() {
  Rows rows;
  rows.embeddings("bert/embeddings", "albert.embeddings");
  rows.dense("bert/encoder/embedding_hidden_mapping_in",
             "albert.encoder.embedding_hidden_mapping_in");
  const std::string from = "bert/encoder/transformer/group_0/inner_group_0/";
  const std::string to = "albert.encoder.albert_layer_groups.0.albert_layers.0.";
  for (const std::string part : {"query", "key", "value"}) {
    rows.dense(from + "attention_1/self/" + part, to + "attention." + part);
  }
  rows.dense(from + "attention_1/output/dense", to + "attention.dense");
  rows.norm(from + "LayerNorm", to + "attention.LayerNorm");
  rows.dense(from + "ffn_1/intermediate/dense", to + "ffn");
  rows.dense(from + "ffn_1/intermediate/output/dense", to + "ffn_output");
  rows.norm(from + "LayerNorm_1", to + "full_layer_layer_norm");
  rows.dense("bert/pooler/dense", "albert.pooler");
  rows.dense("cls/predictions/transform/dense", "predictions.dense");
  rows.norm("cls/predictions/transform/LayerNorm", "predictions.LayerNorm");
  rows.same("cls/predictions/output_bias", "predictions.bias");
  rows.output("cls/seq_relationship/", "sop_classifier.classifier");
  rows.output("cls/squad/", "qa_outputs");
  rows.output("", "classifier");
  return rows.take();
}

const std::vector<Row>& rows_of(TensorflowDialect dialect) {
  static const std::vector<Row> bert = bert_rows(), albert = albert_rows();
  return dialect == TensorflowDialect::kBert ? bert : albert;
}

}  // namespace

std::optional<std::string_view> match_numbered(std::string_view pattern, std::string_view name) {
  const size_t braces = pattern.find("{}");
  if (braces == std::string_view::npos) {
    return pattern == name ? std::optional(std::string_view()) : std::nullopt;
  }
  const std::string_view front = pattern.substr(0, braces), back = pattern.substr(braces + 2);
  if (name.size() <= front.size() + back.size() || !name.starts_with(front) ||
      !name.ends_with(back)) {
    return std::nullopt;
  }
  name.remove_prefix(front.size());
  name.remove_suffix(back.size());
  if (name.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  return name;
}

std::string with_number(std::string_view pattern, std::string_view number) {
  std::string name(pattern);
  if (const size_t braces = name.find("{}"); braces != std::string::npos) {
    name.replace(braces, 2, number);
  }
  return name;
}

std::optional<MappedName> from_tensorflow1(std::string_view name, TensorflowDialect dialect) {
  constexpr std::string_view kHub = "module/";
  if (name.starts_with(kHub)) name.remove_prefix(kHub.size());
  for (const Row& row : rows_of(dialect)) {
    if (const auto number = match_numbered(row.tensorflow, name)) {
      return MappedName{with_number(row.hugging_face, *number), row.layout};
    }
  }
  return std::nullopt;
}

std::optional<MappedName> to_tensorflow1(std::string_view name, TensorflowDialect dialect) {
  for (const Row& row : rows_of(dialect)) {
    if (const auto number = match_numbered(row.hugging_face, name)) {
      return MappedName{with_number(row.tensorflow, *number), row.layout};
    }
  }
  return std::nullopt;
}

}  // namespace berth
