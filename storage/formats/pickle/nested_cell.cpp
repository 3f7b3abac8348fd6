#include "storage/formats/pickle/nested_cell.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "storage/formats/pickle/numpy_array.h"

namespace berth {
namespace {

constexpr uint64_t kLimitBytes = uint64_t{64} << 20;
constexpr uint64_t kPartBytes = sizeof(Json);  // memory of one element, in addition to its text
constexpr uint64_t kListBytes = 64;  // of a list or dict, in addition to its elements, about

bool is_list(const PickleGraph& graph, NodeId id) {
  return graph.is_sequence(id) || graph.is(id, NodeKind::kSet) || is_numpy_array(graph, id);
}

class NestedReader {
 public:
  explicit NestedReader(const PickleGraph& graph) : graph_(graph) {}

  Json read(NodeId id) {
    if (!is_nested(graph_, id)) return scalar(id);
    enter(id);
    Json parts = graph_.is(id, NodeKind::kDict) ? object(id) : list(id);
    open_.pop_back();
    return parts;
  }

 private:
  // Python can write a list that contains itself, directly or through others.
  void enter(NodeId id) {
    if (std::ranges::find(open_, id) != open_.end()) {
      throw Error(Code::kBadData, cat(graph_.describe(id), " that contains itself"));
    }
    if (open_.size() == kDeepestJson) {
      throw Error(Code::kBadData, cat("lists nested deeper than ", kDeepestJson, " levels"));
    }
    spend(kListBytes);
    open_.push_back(id);
  }

  Json object(NodeId id) {
    Json members = Json::object();
    const auto pairs = graph_.items(id);
    for (size_t i = 0; i + 1 < pairs.size(); i += 2) {
      Cell key;
      read_object(graph_, pairs[i], key);
      const std::string name = cell_text(key);
      spend(name.size());
      members[name] = read(pairs[i + 1]);
    }
    return members;
  }

  Json list(NodeId id) {
    Json parts = Json::array();
    if (!is_numpy_array(graph_, id)) {
      for (const NodeId part : graph_.items(id)) parts.push_back(read(part));
      return parts;
    }
    const NumpyArray array = read_numpy_array(graph_, id);
    if (open_.size() + array.shape.size() > kDeepestJson) {
      throw Error(Code::kBadData, cat("lists nested deeper than ", kDeepestJson, " levels"));
    }
    return array_part(array, 0, 0);
  }

  // The elements of an array that agree with element `first` in the dimensions before this one.
  Json array_part(const NumpyArray& array, size_t dimension, uint64_t first) {
    if (dimension == array.shape.size()) {
      if (array.dtype.kind == 'O') return read(array.objects[first]);
      Cell part;
      array.read(graph_, first, part);
      return value(part);
    }
    if (dimension > 0) spend(kListBytes);
    uint64_t stride = 1;
    const auto size = [&](size_t i) { return array.shape[i]; };
    if (array.column_major && array.dtype.kind != 'O') {
      for (size_t i = 0; i < dimension; ++i) stride *= size(i);
    } else {
      for (size_t i = dimension + 1; i < array.shape.size(); ++i) stride *= size(i);
    }
    Json parts = Json::array();
    for (uint64_t i = 0; i < array.shape[dimension]; ++i) {
      parts.push_back(array_part(array, dimension + 1, first + i * stride));
    }
    return parts;
  }

  Json scalar(NodeId id) {
    Cell part;
    read_object(graph_, id, part);
    return value(part);
  }

  Json value(const Cell& part) {
    const auto* text = std::get_if<std::string>(&part);
    spend(text == nullptr ? 0 : text->size());
    if (text != nullptr) return *text;
    if (const auto* whole = std::get_if<int64_t>(&part)) return *whole;
    if (const auto* truth = std::get_if<bool>(&part)) return *truth;
    const auto* real = std::get_if<double>(&part);
    return real != nullptr && std::isfinite(*real) ? Json(*real) : Json();
  }

  void spend(uint64_t text_bytes) {
    spent_ += text_bytes + kPartBytes;
    if (spent_ <= kLimitBytes) return;
    throw Error(Code::kBadData, cat("a list of more than ", human_bytes(kLimitBytes)));
  }

  const PickleGraph& graph_;
  std::vector<NodeId> open_;  // the lists and dicts that are being read, outermost first
  uint64_t spent_ = 0;
};

}  // namespace

bool is_nested(const PickleGraph& graph, NodeId id) {
  return is_list(graph, id) || graph.is(id, NodeKind::kDict);
}

bool read_nested(const PickleGraph& graph, NodeId id, Cell& cell) {
  if (!is_nested(graph, id)) return false;
  cell = to_text(NestedReader(graph).read(id));
  return true;
}

}  // namespace berth
