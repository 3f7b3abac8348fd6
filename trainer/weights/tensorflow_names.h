#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace berth {

// TensorFlow's layouts of parameters that Hugging Face stores as [outputs, inputs] or as a vector.
enum class TensorflowLayout {
  kSame,
  kVector,       // any rank, row-major: biases of [heads, size]
  kInputsFirst,  // [inputs, outputs...]; must be transposed
  kOutputsLast,  // [inputs..., outputs]; must be transposed
};

struct MappedName {
  std::string name;
  TensorflowLayout layout = TensorflowLayout::kSame;
};

// Google's programs of 2018 and 2019 give parts of BERT and ALBERT the same names, for which
// Hugging Face has different names.
enum class TensorflowDialect { kBert, kAlbert };

// The Hugging Face name of a TF1 variable (google-research/bert and albert, modeling.py). A leading
// "module/" of TF-Hub is ignored. nullopt if the variable is not part of the model.
//   "bert/encoder/layer_0/output/dense/kernel" -> "bert.encoder.layer.0.output.dense.weight"
//   "output_weights"                           -> "classifier.weight"
std::optional<MappedName> from_tensorflow1(std::string_view name, TensorflowDialect dialect);

// The reverse. The layout is the TensorFlow variable's.
std::optional<MappedName> to_tensorflow1(std::string_view name, TensorflowDialect dialect);

// Finds the Hugging Face names of the keys of a TF2 checkpoint of TF Model Garden's BERT
// (tensorflow/models, official/nlp/modeling). The keys lack the end "/.ATTRIBUTES/VARIABLE_VALUE".
// These layouts are known:
//
//   PREFIX/layer_with_weights-0/embeddings          a functional model, its layers by number
//   PREFIX/_embedding_layer/embeddings              a layer with attributes (BertEncoderV2)
//   next_sentence..pooler_dense, masked_lm, ...     heads, beside or within the model
//
// Any other key is found by its full name ("transformer/layer_0/output/kernel") if the object graph
// has one. Keys that are not part of BERT have no entry in the result.
std::map<std::string, MappedName> model_garden_names(
    const std::set<std::string>& keys,
    const std::map<std::string, std::string, std::less<>>& full_names_by_key);

}  // namespace berth
