#include "storage/formats/torch/torch_dialect.h"

#include <algorithm>
#include <iterator>

#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
namespace {

constexpr GlobalEntry kTorchEntries[] = {
    {"collections", "OrderedDict", Global::kOrderedDict},
    {"torch._utils", "_rebuild_tensor", Global::kRebuildTensor},
    {"torch._utils", "_rebuild_tensor_v2", Global::kRebuildTensorV2},
    {"torch._utils", "_rebuild_parameter", Global::kRebuildParameter},
    {"torch", "FloatStorage", Global::kTorchStorage},
    {"torch", "DoubleStorage", Global::kTorchStorage},
    {"torch", "HalfStorage", Global::kTorchStorage},
    {"torch", "BFloat16Storage", Global::kTorchStorage},
    {"torch", "LongStorage", Global::kTorchStorage},
    {"torch", "IntStorage", Global::kTorchStorage},
    {"torch", "ShortStorage", Global::kTorchStorage},
    {"torch", "CharStorage", Global::kTorchStorage},
    {"torch", "ByteStorage", Global::kTorchStorage},
    {"torch", "BoolStorage", Global::kTorchStorage},
    {"torch", "ComplexFloatStorage", Global::kTorchStorage},
    {"torch", "ComplexDoubleStorage", Global::kTorchStorage},
    {"torch", "QInt8Storage", Global::kTorchStorage},
    {"torch", "QUInt8Storage", Global::kTorchStorage},
    {"torch", "QInt32Storage", Global::kTorchStorage},
};

constexpr GlobalEntry kPersistent = {"torch", "storage", Global::kTorchPersistent};
constexpr size_t kLargestPickle = size_t{8} << 20;
constexpr size_t kLongestKey = 64;  // PyTorch's keys are numbers

struct ElementType {
  std::string_view storage;
  DType dtype;
};
constexpr ElementType kElementTypes[] = {
    {"FloatStorage", DType::kF32},     {"DoubleStorage", DType::kF64}, {"HalfStorage", DType::kF16},
    {"BFloat16Storage", DType::kBF16}, {"LongStorage", DType::kI64},   {"IntStorage", DType::kI32},
    {"ShortStorage", DType::kI16},     {"CharStorage", DType::kI8},    {"ByteStorage", DType::kU8},
    {"BoolStorage", DType::kBool}};

DType dtype_of_storage(std::string_view storage_class) {
  const auto* found = std::find_if(std::begin(kElementTypes), std::end(kElementTypes),
                                   [&](const auto& type) { return type.storage == storage_class; });
  if (found == std::end(kElementTypes)) {
    throw Error(Code::kBadData, cat("tensors of torch.", storage_class, " are not supported"), "",
                "save the model in float32, bfloat16 or float16");
  }
  return found->dtype;
}

[[noreturn]] void refuse(const PickleGraph& graph, const char* what, NodeId callable) {
  throw Error(Code::kBadData, cat(what, " ", graph.describe(callable),
                                  ", which no state dict needs; nothing was executed"));
}

}  // namespace

std::optional<GlobalEntry> TorchDialect::find_global(std::string_view module,
                                                     std::string_view name) const {
  const auto* found =
      std::find_if(std::begin(kTorchEntries), std::end(kTorchEntries),
                   [&](const auto& e) { return e.name == name && e.module == module; });
  if (found == std::end(kTorchEntries)) return std::nullopt;
  return *found;
}

NodeId TorchDialect::reduce(PickleGraph& graph, NodeId callable, NodeId arguments) {
  if (!graph.is(arguments, NodeKind::kTuple)) {
    throw Error(Code::kCorrupt, cat("calls with ", graph.describe(arguments), ", not a tuple"));
  }
  if (graph.is_global(callable, Global::kOrderedDict)) {
    if (graph.items(arguments).empty()) return graph.add_items(NodeKind::kDict, {});
    return graph.add_object(callable, arguments);  // Python 2 passes a list of pairs
  }
  if (graph.is_global(callable, Global::kRebuildTensor) ||
      graph.is_global(callable, Global::kRebuildTensorV2) ||
      graph.is_global(callable, Global::kRebuildParameter)) {
    return graph.add_object(callable, arguments);
  }
  refuse(graph, "calls", callable);
}

NodeId TorchDialect::new_object(PickleGraph& graph, NodeId cls, NodeId) {
  refuse(graph, "makes an instance of", cls);
}

void TorchDialect::build(PickleGraph& graph, NodeId object, NodeId state) {
  // A module's state dict has the attribute {'_metadata': versions}, which is not needed here.
  const bool is_dict =
      graph.is(object, NodeKind::kDict) || graph.is_made_by(object, Global::kOrderedDict);
  if (!is_dict || !graph.is(state, NodeKind::kDict)) refuse(graph, "gives state to", object);
}

std::optional<NodeId> TorchDialect::persistent(PickleGraph& graph, NodeId id) {
  const bool has_view = graph.is_sequence(id) && graph.items(id).size() == 6;
  const auto parts = graph.items_of(id, has_view ? 6 : 5, "a reference to a storage");
  const auto is_text = [&](NodeId part) { return graph.is_text(part); };
  if (!is_text(parts[0]) || graph.text(parts[0]) != "storage" ||
      !graph.is_global(parts[1], Global::kTorchStorage) || !is_text(parts[2]) ||
      !is_text(parts[3]) || !graph.is(parts[4], NodeKind::kInt)) {
    throw Error(Code::kBadData, "refers to something that is not a storage");
  }
  if (has_view && parts[5] != PickleGraph::kNone) {
    throw Error(Code::kBadData, "holds a view of a storage, as PyTorch 0.1 wrote", "",
                "save the model again with a newer PyTorch");
  }
  const std::string_view key = graph.text(parts[2]);
  if (key.empty() || key.size() > kLongestKey) {
    throw Error(Code::kCorrupt, cat("a storage's key of ", key.size(), " bytes"));
  }
  TorchStorage storage{.dtype = dtype_of_storage(graph.global(parts[1]).name)};
  const int64_t elements = graph.integer(parts[4]);
  storage.elements = static_cast<uint64_t>(elements);
  if (elements < 0 ||
      __builtin_mul_overflow(storage.elements, size_of(storage.dtype), &storage.size_bytes)) {
    throw Error(Code::kCorrupt, cat("storage ", quoted(key), " of ", elements, " elements"));
  }
  const auto [known, is_new] = storages_.try_emplace(std::string(key), storage);
  if (!is_new &&
      (known->second.dtype != storage.dtype || known->second.elements != storage.elements)) {
    throw Error(Code::kCorrupt, cat("storage ", quoted(key), " has two types or sizes"));
  }
  return graph.add_object(graph.add_global(kPersistent), id);
}

LoadedPickle load_torch_pickle(Bytes file, TorchDialect& dialect) {
  const Bytes pickle = file.first(std::min(file.size(), kLargestPickle));
  return load_pickle({pickle.begin(), pickle.end()}, dialect);
}

std::string_view storage_key(const PickleGraph& graph, NodeId storage) {
  return graph.text(graph.items(graph.arguments(storage))[2]);
}

}  // namespace berth
