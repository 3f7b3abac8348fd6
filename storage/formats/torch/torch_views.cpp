#include "storage/formats/torch/torch_views.h"

#include <optional>
#include <unordered_set>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/formats/damage.h"
#include "storage/formats/torch/torch_dialect.h"

namespace berth {
namespace {

constexpr size_t kMostTorchDimensions = 32, kMostTensors = 100'000;
constexpr int kMostNested = 4;  // for example {"model": {"state_dict": {...}}}

struct Item {
  NodeId key, value;
};

// Returns the items of a dict, or of an OrderedDict as Python 2 pickles it: built from a list of
// pairs.
std::optional<std::vector<Item>> dict_items(const PickleGraph& graph, NodeId id) {
  std::vector<Item> items;
  if (graph.is(id, NodeKind::kDict)) {
    const auto links = graph.items(id);
    for (size_t i = 0; i < links.size(); i += 2) items.push_back({links[i], links[i + 1]});
    return items;
  }
  if (!graph.is_made_by(id, Global::kOrderedDict)) return std::nullopt;
  const NodeId pairs = graph.items_of(graph.arguments(id), 1, "the argument of an OrderedDict")[0];
  if (!graph.is_sequence(pairs))
    throw Error(Code::kBadData, "makes an OrderedDict from something other than a list");
  for (const NodeId pair : graph.items(pairs)) {
    const auto parts = graph.items_of(pair, 2, "an item of an OrderedDict");
    items.push_back({parts[0], parts[1]});
  }
  return items;
}

std::vector<Item> state_dict_items(const PickleGraph& graph, NodeId top) {
  auto items = dict_items(graph, top);
  for (int depth = 0; items && depth < kMostNested; ++depth) {
    std::optional<std::vector<Item>> inner;
    for (const std::string_view name : {"state_dict", "model_state_dict", "model", "module"}) {
      for (const Item& item : *items) {
        if (inner || !graph.is_text(item.key) || graph.text(item.key) != name) continue;
        inner = dict_items(graph, item.value);
      }
    }
    if (!inner) return std::move(*items);
    items = std::move(inner);
  }
  throw Error(Code::kBadData, cat("holds ", graph.describe(top), ", not a dict of tensors"), "",
              "save model.state_dict()");
}

std::vector<int64_t> sizes(const PickleGraph& graph, NodeId id, std::string_view tensor) {
  if (!graph.is_sequence(id)) fail_tensor(tensor, cat("its shape is ", graph.describe(id)));
  if (graph.items(id).size() > kMostTorchDimensions) {
    fail_tensor(tensor, cat("has ", graph.items(id).size(), " dimensions"));
  }
  std::vector<int64_t> values;
  for (const NodeId item : graph.items(id)) {
    if (!graph.is(item, NodeKind::kInt) || graph.integer(item) < 0) {
      fail_tensor(tensor, "a size or stride that is negative or not an integer");
    }
    values.push_back(graph.integer(item));
  }
  return values;
}

bool is_tensor(const PickleGraph& graph, NodeId id) {
  return graph.is_made_by(id, Global::kRebuildTensor) ||
         graph.is_made_by(id, Global::kRebuildTensorV2);
}

// _rebuild_tensor_v2(storage, offset, size, stride, requires_grad, hooks[, metadata]);
// _rebuild_tensor ends with the stride.
TorchView read_view(const PickleGraph& graph, NodeId id, std::string_view name) {
  const auto args = graph.items(graph.arguments(id));
  const size_t fewest = graph.is_made_by(id, Global::kRebuildTensor) ? 4 : 6;
  if (args.size() < fewest || args.size() > 7 ||
      !graph.is_made_by(args[0], Global::kTorchPersistent) || !graph.is(args[1], NodeKind::kInt) ||
      graph.integer(args[1]) < 0) {
    fail_tensor(name, "is not made of a storage and an offset");
  }
  TorchView view{.name = std::string(name),
                 .storage = std::string(storage_key(graph, args[0])),
                 .offset = static_cast<uint64_t>(graph.integer(args[1])),
                 .shape = sizes(graph, args[2], name),
                 .stride = sizes(graph, args[3], name)};
  if (view.shape.size() != view.stride.size())
    fail_tensor(name, "has different numbers of sizes and strides");
  return view;
}

// _rebuild_parameter(tensor, requires_grad, hooks)
NodeId tensor_of_parameter(const PickleGraph& graph, NodeId id, std::string_view name) {
  const auto args = graph.items(graph.arguments(id));
  if (args.size() != 3 || !is_tensor(graph, args[0]))
    fail_tensor(name, "is a parameter without a tensor");
  return args[0];
}

}  // namespace

std::vector<TorchView> read_state_dict(const PickleGraph& graph, NodeId top) {
  std::vector<TorchView> views;
  std::unordered_set<std::string_view> names;
  for (const Item& item : state_dict_items(graph, top)) {
    NodeId value = item.value;
    const bool is_parameter = graph.is_made_by(value, Global::kRebuildParameter);
    if (!is_parameter && !is_tensor(graph, value)) continue;
    if (!graph.is_text(item.key)) {
      throw Error(Code::kBadData, cat("names a tensor by ", graph.describe(item.key)), "",
                  "save model.state_dict()");
    }
    const std::string_view name = graph.text(item.key);
    if (!names.insert(name).second) fail_tensor(name, "appears twice in the state dict");
    if (is_parameter) value = tensor_of_parameter(graph, value, name);
    if (views.size() == kMostTensors) {
      throw Error(Code::kBadData, cat("holds more than ", kMostTensors, " tensors"));
    }
    views.push_back(read_view(graph, value, name));
  }
  if (views.empty()) throw Error(Code::kBadData, "holds no tensors", "", "save model.state_dict()");
  return views;
}

}  // namespace berth
