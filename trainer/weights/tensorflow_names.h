#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace berth {

// How TensorFlow lays out what Hugging Face keeps as [outputs, inputs], or as a vector.
enum class TensorflowLayout {
  kSame,
  kVector,       // any rank, row-major: biases of [heads, size]
  kInputsFirst,  // [inputs, outputs...]: to transpose
  kOutputsLast,  // [inputs..., outputs]: to transpose
};

struct MappedName {
  std::string name;
  TensorflowLayout layout = TensorflowLayout::kSame;
};

// Google's two programs of 2018 and 2019 name the same parts alike, and Hugging Face does not.
enum class TensorflowDialect { kBert, kAlbert };

// A TF1 variable's Hugging Face name (google-research/bert and albert, modeling.py), a leading
// "module/" of TF-Hub's apart. nullopt: none of the model's.
//   "bert/encoder/layer_0/output/dense/kernel" -> "bert.encoder.layer.0.output.dense.weight"
//   "output_weights"                           -> "classifier.weight"
std::optional<MappedName> from_tensorflow1(std::string_view name, TensorflowDialect dialect);

// The reverse; the layout is that of the TensorFlow variable of the returned name.
std::optional<MappedName> to_tensorflow1(std::string_view name, TensorflowDialect dialect);

// "a/{}/b" where the braces stand for one decimal number. The number's digits where `name` is of
// that form, empty where the pattern has no braces; nullopt: not of that form.
std::optional<std::string_view> match_numbered(std::string_view pattern, std::string_view name);
std::string with_number(std::string_view pattern, std::string_view number);

}  // namespace berth
