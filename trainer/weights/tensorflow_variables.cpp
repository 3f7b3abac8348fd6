#include "trainer/weights/tensorflow_variables.h"

#include <algorithm>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "trainer/weights/tensorflow_names.h"
#include "trainer/weights/transpose.h"

namespace berth {
namespace {

bool is_derived(std::string_view name) {
  return name.ends_with("embeddings.position_ids") || name.ends_with("embeddings.token_type_ids") ||
         name.ends_with("predictions.decoder.weight") || name.ends_with("predictions.decoder.bias");
}

TensorflowDialect dialect_to_write(std::span<const NamedTensor> model) {
  const bool is_albert = std::any_of(model.begin(), model.end(), [](const NamedTensor& tensor) {
    return tensor.name.starts_with("albert.");
  });
  return is_albert ? TensorflowDialect::kAlbert : TensorflowDialect::kBert;
}

}  // namespace

TensorflowVariables::TensorflowVariables(std::span<const NamedTensor> model) {
  const TensorflowDialect dialect = dialect_to_write(model);
  for (const NamedTensor& source : model) {
    if (is_derived(source.name)) continue;
    auto mapped = to_tensorflow1(source.name, dialect);
    const bool is_kernel = mapped && mapped->layout == TensorflowLayout::kInputsFirst;
    if (!mapped || (is_kernel && source.shape.size() != 2)) {
      throw Error(Code::kUsage, "has no place in a TensorFlow checkpoint of BERT or ALBERT",
                  "tensor " + quoted(source.name), "export this model as safetensors");
    }
    NamedTensor tensor = source;
    tensor.name = std::move(mapped->name);
    if (is_kernel) {
      std::swap(tensor.shape[0], tensor.shape[1]);
      std::vector<std::byte>& kernel = owned_.emplace_back();
      transpose({source.data, source.shape[0], source.shape[1], size_of(source.dtype)}, 0,
                source.shape[1], kernel);
      tensor.data = kernel;
    }
    tensors_.push_back(std::move(tensor));
  }
}

}  // namespace berth
