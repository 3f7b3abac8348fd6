#include "storage/formats/pickle/nested_cell.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "storage/formats/pickle/numpy_array.h"

namespace berth {
namespace {

constexpr uint64_t kLimitBytes = uint64_t{64} << 20;
constexpr uint64_t kPartBytes = sizeof(Json);  // memory of one element, in addition to its text

bool is_list(const PickleGraph& graph, NodeId id) {
  return graph.is_sequence(id) || graph.is(id, NodeKind::kSet) || is_numpy_array(graph, id);
}

class NestedReader {
 public:
  explicit NestedReader(const PickleGraph& graph) : graph_(graph) {}

  std::optional<Json> read(NodeId id) {
    top_ = id;
    if (is_list(graph_, id)) return list(id);
    if (!graph_.is(id, NodeKind::kDict)) return std::nullopt;
    Json object = Json::object();
    const auto pairs = graph_.items(id);
    for (size_t i = 0; i + 1 < pairs.size(); i += 2) {
      Cell key;
      read_object(graph_, pairs[i], key);
      const std::string name = cell_text(key);
      spend(name.size());
      require_outside(pairs[i + 1], id);
      object[name] = is_list(graph_, pairs[i + 1]) ? list(pairs[i + 1]) : scalar(pairs[i + 1]);
    }
    return object;
  }

 private:
  Json list(NodeId id) {
    Json parts = Json::array();
    if (!is_numpy_array(graph_, id)) {
      for (const NodeId part : graph_.items(id)) {
        require_outside(part, id);
        parts.push_back(scalar(part));
      }
      return parts;
    }
    const NumpyArray array = read_numpy_array(graph_, id);
    const uint64_t length = length_of(array);
    for (uint64_t i = 0; i < length; ++i) {
      Cell part;
      if (array.dtype.kind == 'O') {
        require_outside(array.objects[i], id);
        read_object(graph_, array.objects[i], part);
      } else {
        array.read(graph_, i, part);
      }
      parts.push_back(value(part));
    }
    return parts;
  }

  // `part` is in `container`, which is in the cell. Python can write a list that contains itself.
  void require_outside(NodeId part, NodeId container) const {
    if (part != container && part != top_) return;
    throw Error(Code::kBadData, cat(graph_.describe(part), " that contains itself"));
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
  NodeId top_ = PickleGraph::kNone;  // the cell
  uint64_t spent_ = 0;
};

}  // namespace

bool read_nested(const PickleGraph& graph, NodeId id, Cell& cell) {
  const std::optional<Json> value = NestedReader(graph).read(id);
  if (value) cell = to_text(*value);
  return value.has_value();
}

}  // namespace berth
