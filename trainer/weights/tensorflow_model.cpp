#include "trainer/weights/tensorflow_model.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <map>
#include <set>

#include "storage/base/error.h"
#include "storage/base/shuffle.h"
#include "storage/base/text.h"
#include "storage/formats/tensorflow_checkpoint.h"
#include "trainer/weights/tensorflow_names.h"

namespace berth {
namespace {

// A tile is so wide and tall that reading and writing each touch several successive cache lines.
// With one cache line a row, transposing takes two and a half times as long.
constexpr size_t kTileRows = 64, kTileColumns = 64;

template <typename Element>
using Tile = Element[kTileRows][kTileColumns];
template <typename Element>
using TransposedTile = Element[kTileColumns][kTileRows];

template <typename Element>
void transpose_tile(const Tile<Element>& from, TransposedTile<Element>& to) {
  for (size_t row = 0; row < kTileRows; ++row) {
    for (size_t column = 0; column < kTileColumns; ++column) to[column][row] = from[row][column];
  }
}

// Transposes blocks of 4 x 4 in registers. This form exists because most files hold 32-bit numbers.
void transpose_tile(const Tile<uint32_t>& from, TransposedTile<uint32_t>& to) {
  using Four = uint32_t __attribute__((vector_size(16)));
  for (size_t row = 0; row < kTileRows; row += 4) {
    for (size_t column = 0; column < kTileColumns; column += 4) {
      Four in[4];
      for (size_t i = 0; i < 4; ++i) std::memcpy(&in[i], &from[row + i][column], sizeof in[i]);
      const Four low01 = BERTH_SHUFFLE(in[0], in[1], 0, 4, 1, 5);
      const Four low23 = BERTH_SHUFFLE(in[2], in[3], 0, 4, 1, 5);
      const Four high01 = BERTH_SHUFFLE(in[0], in[1], 2, 6, 3, 7);
      const Four high23 = BERTH_SHUFFLE(in[2], in[3], 2, 6, 3, 7);
      const Four out[4] = {
          BERTH_SHUFFLE(low01, low23, 0, 1, 4, 5), BERTH_SHUFFLE(low01, low23, 2, 3, 6, 7),
          BERTH_SHUFFLE(high01, high23, 0, 1, 4, 5), BERTH_SHUFFLE(high01, high23, 2, 3, 6, 7)};
      for (size_t i = 0; i < 4; ++i) std::memcpy(&to[column + i][row], &out[i], sizeof out[i]);
    }
  }
}

// Transposes a copy of one tile after the other and never reads a column from the matrix itself.
// Rows whose distance is a power of two share one cache set, which has only a few lines.
template <typename Element>
void transpose(const std::byte* from, size_t stride, std::byte* to, size_t rows, size_t columns) {
  Tile<Element> in{};
  TransposedTile<Element> out;
  for (size_t row0 = 0; row0 < rows; row0 += kTileRows) {
    const size_t height = std::min(kTileRows, rows - row0);
    for (size_t column0 = 0; column0 < columns; column0 += kTileColumns) {
      const size_t width = std::min(kTileColumns, columns - column0);
      for (size_t row = 0; row < height; ++row) {
        std::memcpy(in[row], from + ((row0 + row) * stride + column0) * sizeof(Element),
                    width * sizeof(Element));
      }
      transpose_tile(in, out);
      for (size_t column = 0; column < width; ++column) {
        std::memcpy(to + ((column0 + column) * rows + row0) * sizeof(Element), out[column],
                    height * sizeof(Element));
      }
    }
  }
}

}  // namespace

void transpose(const Matrix& matrix, int64_t first_column, int64_t count,
               std::vector<std::byte>& result) {
  const auto rows = static_cast<size_t>(matrix.rows), stride = static_cast<size_t>(matrix.columns);
  const auto first = static_cast<size_t>(first_column), columns = static_cast<size_t>(count);
  assert(matrix.bytes.size() == rows * stride * matrix.element_size && first + columns <= stride);
  result.resize(rows * columns * matrix.element_size);
  if (result.empty()) return;
  const std::byte* const from = matrix.bytes.data() + first * matrix.element_size;
  switch (matrix.element_size) {
    case 1:
      return transpose<uint8_t>(from, stride, result.data(), rows, columns);
    case 2:
      return transpose<uint16_t>(from, stride, result.data(), rows, columns);
    case 4:
      return transpose<uint32_t>(from, stride, result.data(), rows, columns);
    default:
      assert(matrix.element_size == 8);
      return transpose<uint64_t>(from, stride, result.data(), rows, columns);
  }
}

namespace {

std::string_view without_end(std::string_view key) {
  return key.substr(0, key.size() - kVariableValue.size());
}

bool is_graph_key(std::string_view name) { return name.ends_with(kVariableValue); }

// Refuses checkpoints of albert_zh. They have a second matrix of the word embeddings and add
// positions after the projection.
void refuse_albert_zh(const TensorBundleIndex& index) {
  for (const BundleEntry& entry : index.tensors()) {
    if (entry.name.find("/encoder/layer_shared/") != std::string::npos ||
        entry.name.ends_with("/word_embeddings_2")) {
      throw Error(Code::kBadData,
                  "a checkpoint of albert_zh, whose architecture differs from ALBERT", entry.name,
                  "use Google's own ALBERT weights");
    }
  }
}

TensorflowDialect dialect_in(std::span<const NamedTensor> tensors) {
  const bool is_albert = std::any_of(tensors.begin(), tensors.end(), [](const NamedTensor& tensor) {
    return tensor.name.find("encoder/transformer/group_0/") != std::string::npos ||
           tensor.name.find("encoder/embedding_hidden_mapping_in/") != std::string::npos;
  });
  return is_albert ? TensorflowDialect::kAlbert : TensorflowDialect::kBert;
}

// The Hugging Face name of each variable. Unknown variables have none.
std::map<std::string, MappedName> names_of(const TensorBundleReader& bundle) {
  std::map<std::string, MappedName> names;
  std::set<std::string> graph_keys;
  const TensorflowDialect dialect = dialect_in(bundle.tensors());
  for (const NamedTensor& tensor : bundle.tensors()) {
    if (is_graph_key(tensor.name)) {
      graph_keys.emplace(without_end(tensor.name));
    } else if (auto mapped = from_tensorflow1(tensor.name, dialect)) {
      names.emplace(tensor.name, std::move(*mapped));
    }
  }
  std::map<std::string, std::string, std::less<>> by_key;
  for (const std::string_view graph : bundle.strings(kObjectGraphKey)) {
    for (auto& [key, name] : full_names(as_bytes(graph))) {
      if (is_graph_key(key)) by_key.emplace(without_end(key), std::move(name));
    }
  }
  for (auto& [key, mapped] : model_garden_names(graph_keys, by_key)) {
    names.emplace(key + std::string(kVariableValue), std::move(mapped));
  }
  return names;
}

// The rows and columns of a kernel in TensorFlow's layout.
std::pair<int64_t, int64_t> kernel_sides(const NamedTensor& kernel, TensorflowLayout layout) {
  if (kernel.shape.size() < 2 || kernel.shape.size() > 3) {
    throw Error(Code::kBadData,
                cat("has ", kernel.shape.size(), " dimensions, where a layer's kernel has 2 or 3"),
                "tensor " + quoted(kernel.name));
  }
  const bool inputs_first = layout == TensorflowLayout::kInputsFirst;
  const int64_t side = inputs_first ? kernel.shape.front() : kernel.shape.back();
  const int64_t other = side == 0 ? 0 : kernel.elements() / side;
  return inputs_first ? std::pair(side, other) : std::pair(other, side);
}

bool is_kernel(TensorflowLayout layout) {
  return layout == TensorflowLayout::kInputsFirst || layout == TensorflowLayout::kOutputsLast;
}

// `source` with its Hugging Face name and shape. A kernel has no data here, because it is
// transposed when it is read.
NamedTensor converted(const NamedTensor& source, const MappedName& mapped) {
  NamedTensor tensor = source;
  tensor.name = mapped.name;
  if (mapped.layout == TensorflowLayout::kVector) tensor.shape = {source.elements()};
  if (is_kernel(mapped.layout)) {
    const auto [rows, columns] = kernel_sides(source, mapped.layout);
    tensor.shape = {columns, rows};
    tensor.data = {};
  }
  return tensor;
}

// Whether the variable is a pooler that was saved with its head. This pooler was trained; a pooler
// in the encoder beside it was not.
bool is_head_pooler(std::string_view variable) {
  return variable.find("..pooler_dense/") != std::string_view::npos ||
         variable.find("/dense/") != std::string_view::npos;
}

// The variables to ignore because a trained pooler has the same Hugging Face name.
std::set<std::string> replaced_variables(const std::map<std::string, MappedName>& names) {
  std::map<std::string, std::string> variable_of;
  std::set<std::string> replaced;
  for (const auto& [variable, mapped] : names) {
    const auto [first, is_new] = variable_of.emplace(mapped.name, variable);
    if (is_new) continue;
    if (is_head_pooler(variable) == is_head_pooler(first->second)) {
      throw Error(Code::kBadData,
                  cat(quoted(variable), " and ", quoted(first->second), " are both ", mapped.name));
    }
    replaced.insert(is_head_pooler(variable) ? first->second : variable);
    if (is_head_pooler(variable)) first->second = variable;
  }
  return replaced;
}

// Reads the variables of the model and the object graph that names them.
TensorBundleReader read_model(TensorBundleIndex index, const ShardBytes& shards,
                              std::vector<std::string>& ignored) {
  refuse_albert_zh(index);
  std::set<std::string> wanted;
  for (const BundleEntry& entry : index.tensors()) {
    if (entry.is_string() ? entry.name == kObjectGraphKey : !is_training_state(index, entry)) {
      wanted.insert(entry.name);
    } else {
      ignored.push_back(entry.name);
    }
  }
  return TensorBundleReader(
      std::move(index), shards,
      [&](const BundleEntry& entry) { return wanted.count(entry.name) != 0; },
      Verification::kLater);
}

}  // namespace

bool is_training_state(const TensorBundleIndex& index, const BundleEntry& entry) {
  if (entry.shape.empty()) return true;
  const std::string_view name = entry.name;
  if (name.find("/.OPTIMIZER_SLOT/") != std::string_view::npos || name.starts_with("optimizer/")) {
    return true;
  }
  const size_t slash = name.rfind('/');
  return slash != std::string_view::npos && index.find(name.substr(0, slash)) != nullptr;
}

Bytes TensorflowModel::read_rows(const NamedTensor& tensor, int64_t first_row, int64_t count,
                                 std::vector<std::byte>& memory) const {
  const auto kernel = kernels_.find(tensor.name);
  if (kernel == kernels_.end()) return TensorReader::read_rows(tensor, first_row, count, memory);
  transpose({.bytes = kernel->second,
             .rows = tensor.shape[1],
             .columns = tensor.shape[0],
             .element_size = size_of(tensor.dtype)},
            first_row, count, memory);
  return memory;
}

TensorflowModel::TensorflowModel(TensorBundleIndex index, const ShardBytes& shards)
    : bundle_(read_model(std::move(index), shards, ignored_)) {
  const auto names = names_of(bundle_);
  const auto replaced = replaced_variables(names);
  for (const NamedTensor& source : bundle_.tensors()) {
    const auto mapped = names.find(source.name);
    if (mapped == names.end()) {
      tensors_.push_back(source);
    } else if (replaced.count(source.name) != 0) {
      ignored_.push_back(source.name);
    } else {
      tensors_.push_back(converted(source, mapped->second));
      if (is_kernel(mapped->second.layout)) kernels_.emplace(mapped->second.name, source.data);
    }
  }
}

namespace {

bool is_derived(std::string_view name) {
  return name.ends_with("embeddings.position_ids") || name.ends_with("embeddings.token_type_ids") ||
         name.ends_with("predictions.decoder.weight") || name.ends_with("predictions.decoder.bias");
}

TensorflowDialect dialect_to_write(std::span<const std::string> tensors) {
  const bool is_albert = std::ranges::any_of(
      tensors, [](const std::string& name) { return name.starts_with("albert."); });
  return is_albert ? TensorflowDialect::kAlbert : TensorflowDialect::kBert;
}

}  // namespace

std::optional<std::string> without_tensorflow_name(std::span<const std::string> tensors) {
  const TensorflowDialect dialect = dialect_to_write(tensors);
  for (const std::string& name : tensors) {
    if (!is_derived(name) && !to_tensorflow1(name, dialect)) return name;
  }
  return std::nullopt;
}

TensorflowVariables::TensorflowVariables(std::span<const NamedTensor> model) {
  std::vector<std::string> names;
  for (const NamedTensor& tensor : model) names.push_back(tensor.name);
  const TensorflowDialect dialect = dialect_to_write(names);
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
