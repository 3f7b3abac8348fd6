#include "storage/formats/pickle/numpy_array.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"

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

namespace {

constexpr size_t kDimensionLimit = 64;  // numpy's own limit

uint64_t product(std::span<const uint64_t> shape, uint64_t item_size) {
  uint64_t bytes = item_size;
  for (const uint64_t size : shape) {
    if (__builtin_mul_overflow(bytes, size, &bytes)) {
      throw Error(Code::kCorrupt, "an array whose shape overflows 64 bits");
    }
  }
  return bytes;
}

void set_shape(const PickleGraph& graph, NodeId id, NumpyArray& array) {
  if (!graph.is(id, NodeKind::kTuple) || graph.items(id).size() > kDimensionLimit) {
    throw Error(Code::kCorrupt, cat("an array whose shape is ", graph.describe(id)));
  }
  for (const NodeId size : graph.items(id)) {
    if (!graph.is(size, NodeKind::kInt) || graph.integer(size) < 0) {
      throw Error(Code::kCorrupt, "an array whose size is not a number");
    }
    array.shape.push_back(static_cast<uint64_t>(graph.integer(size)));
  }
}

void set_data(const PickleGraph& graph, NodeId id, NumpyArray& array) {
  const bool objects = array.dtype.kind == 'O';
  const bool fits = objects ? graph.is(id, NodeKind::kList)
                            : graph.is(id, NodeKind::kBytes) || graph.is(id, NodeKind::kOldText);
  if (!fits) {
    throw Error(Code::kCorrupt,
                cat("an array of ", array.dtype.kind, " whose data is ", graph.describe(id)));
  }
  if (objects) {
    array.objects = graph.items(id);
  } else {
    array.bytes = graph.bytes(id);
  }
  // Empty texts have no bytes, so nothing else limits how many there are.
  constexpr uint64_t kMostEmpty = 100'000;
  if (!objects && array.dtype.item_size == 0 && product(array.shape, 1) > kMostEmpty) {
    throw Error(Code::kBadData, "an array of too many empty texts");
  }
  const uint64_t wanted = product(array.shape, objects ? 1 : array.dtype.item_size);
  const uint64_t given = objects ? array.objects.size() : array.bytes.size();
  if (wanted != given) {
    throw Error(Code::kCorrupt, cat("an array of ", wanted, objects ? " objects" : " bytes",
                                    " that holds ", given));
  }
}

// Whether the object was made by a class of times of Python or pandas, or by a function that makes
// its instances.
bool is_time(const PickleGraph& graph, NodeId id) {
  constexpr std::string_view kNames =
      "date datetime time timedelta Timestamp _unpickle_timestamp _timedelta_unpickle";
  return graph.is_made_by(id, Global::kOther) &&
         is_one_of(kNames, graph.global(graph.callable(id)).name);
}

class ArrayCells final : public CellSource {
 public:
  ArrayCells(const PickleGraph& graph, NumpyArray array, uint64_t first, uint64_t stride,
             uint64_t count)
      : graph_(graph), array_(std::move(array)), first_(first), stride_(stride), count_(count) {}
  uint64_t size() const override { return count_; }
  void read(uint64_t index, Cell& cell) const override {
    array_.read(graph_, first_ + index * stride_, cell);
  }
  std::string unreadable() const override {
    if (array_.dtype.kind != 'O') return unreadable_values(array_.dtype);
    std::string what;
    for (uint64_t i = 0; i < count_ && what.empty(); ++i) {
      what = unreadable_object(graph_, array_.objects[first_ + i * stride_]);
    }
    return what;
  }
  bool holds_nested() const override {
    if (array_.dtype.kind != 'O') return false;
    for (uint64_t i = 0; i < count_; ++i) {
      if (is_nested(graph_, array_.objects[first_ + i * stride_])) return true;
    }
    return false;
  }

 private:
  const PickleGraph& graph_;
  const NumpyArray array_;
  const uint64_t first_, stride_, count_;
};

}  // namespace

NumpyDtype read_dtype(const PickleGraph& graph, NodeId id) {
  if (!graph.is_made_by(id, Global::kDtype)) {
    throw Error(Code::kBadData, cat("an array whose dtype is ", graph.describe(id)));
  }
  const auto args = graph.items(graph.arguments(id));
  if (args.empty() || !graph.is_text(args[0]) || graph.text(args[0]).empty()) {
    throw Error(Code::kCorrupt, "a numpy.dtype without a code");
  }
  const std::string_view code = graph.text(args[0]);
  const std::optional<NumpyDtype> known = parse_dtype(code);
  if (!known) throw Error(Code::kBadData, cat("an array of dtype ", global_name("numpy", code)));
  NumpyDtype dtype = *known;
  const NodeId state = graph.state(id);
  if (graph.is(state, NodeKind::kTuple) && graph.items(state).size() > 1) {
    const NodeId order = graph.items(state)[1];
    dtype.big_endian = graph.is_text(order) && graph.text(order) == ">";
  }
  return dtype;
}

uint64_t NumpyArray::elements() const { return product(shape, 1); }

void NumpyArray::read(const PickleGraph& graph, uint64_t index, Cell& cell) const {
  if (dtype.kind == 'O') return read_cell(graph, objects[index], cell);
  read_element(dtype, bytes.data() + index * dtype.item_size, cell);
}

int64_t NumpyArray::integer(uint64_t index) const {
  return integer_element(dtype, bytes.data() + index * dtype.item_size);
}

bool is_numpy_array(const PickleGraph& graph, NodeId id) {
  return graph.is_made_by(id, Global::kReconstructArray) ||
         graph.is_made_by(id, Global::kFromBuffer);
}

NumpyArray read_numpy_array(const PickleGraph& graph, NodeId id) {
  NumpyArray array;
  if (graph.is_made_by(id, Global::kFromBuffer)) {
    const auto args = graph.items_of(graph.arguments(id), 4, "numpy's _frombuffer");
    array.dtype = read_dtype(graph, args[1]);
    set_shape(graph, args[2], array);
    array.column_major = graph.is_text(args[3]) && graph.text(args[3]) == "F";
    set_data(graph, args[0], array);
    return array;
  }
  if (!graph.is_made_by(id, Global::kReconstructArray)) {
    throw Error(Code::kBadData, cat("holds ", graph.describe(id), " in place of an array"));
  }
  const NodeId state = graph.state(id);
  const size_t versioned =
      graph.is(state, NodeKind::kTuple) && graph.items(state).size() == 5 ? 1 : 0;
  const auto parts = graph.items_of(state, 4 + versioned, "the state of an array");
  const NodeId fortran = parts[versioned + 2];
  array.dtype = read_dtype(graph, parts[versioned + 1]);
  set_shape(graph, parts[versioned], array);
  array.column_major = (graph.is(fortran, NodeKind::kBool) || graph.is(fortran, NodeKind::kInt)) &&
                       graph.integer(fortran) != 0;
  set_data(graph, parts[versioned + 3], array);
  return array;
}

uint64_t length_of(const NumpyArray& array) {
  if (array.shape.size() != 1) {
    throw Error(Code::kBadData, cat("an array of ", array.shape.size(), " dimensions, not 1"));
  }
  return array.shape[0];
}

void read_object(const PickleGraph& graph, NodeId id, Cell& cell) {
  switch (graph.kind(id)) {
    case NodeKind::kBool:
      cell = graph.truth(id);
      return;
    case NodeKind::kInt:
      cell = graph.integer(id);
      return;
    case NodeKind::kFloat:
      return set_float(graph.real(id), cell);
    case NodeKind::kText:
      return set_text(graph.text(id), cell);
    case NodeKind::kBytes:
    case NodeKind::kOldText:
      return set_old_text(graph.text(id), cell);
    default:
      break;
  }
  cell = std::monostate();
  if (!graph.is_made_by(id, Global::kScalar)) return;
  const auto args = graph.items_of(graph.arguments(id), 2, "a numpy scalar");
  NumpyArray scalar;
  scalar.dtype = read_dtype(graph, args[0]);
  if (scalar.dtype.kind == 'O') return;
  set_data(graph, args[1], scalar);
  scalar.read(graph, 0, cell);
}

void read_cell(const PickleGraph& graph, NodeId id, Cell& cell) {
  if (!read_nested(graph, id, cell)) read_object(graph, id, cell);
}

std::string unreadable_object(const PickleGraph& graph, NodeId id) {
  if (graph.is(id, NodeKind::kGlobal)) {
    return graph.is_global(id, Global::kMissing) ? "" : "objects such as " + graph.describe(id);
  }
  if (!graph.is(id, NodeKind::kObject) || is_numpy_array(graph, id) ||
      graph.is_made_by(id, Global::kNaT)) {
    return {};
  }
  if (is_time(graph, id)) return "dates or times";
  if (!graph.is_made_by(id, Global::kScalar)) return "objects such as " + graph.describe(id);
  const auto args = graph.items_of(graph.arguments(id), 2, "a numpy scalar");
  return unreadable_values(read_dtype(graph, args[0]));
}

std::unique_ptr<CellSource> array_cells(const PickleGraph& graph, NumpyArray array, uint64_t first,
                                        uint64_t stride, uint64_t count) {
  return std::make_unique<ArrayCells>(graph, std::move(array), first, stride, count);
}

std::unique_ptr<CellSource> object_cells(const PickleGraph& graph, std::span<const NodeId> items) {
  NumpyArray array;
  array.dtype.kind = 'O';
  array.shape = {items.size()};
  array.objects = items;
  return array_cells(graph, std::move(array), 0, 1, items.size());
}

}  // namespace berth
