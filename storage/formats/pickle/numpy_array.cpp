#include "storage/formats/pickle/numpy_array.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/formats/pickle/nested_cell.h"
#include "storage/formats/utf8.h"

namespace berth {
namespace {

constexpr size_t kDimensionLimit = 64;  // numpy's own limit

uint64_t load(const std::byte* bytes, uint32_t size, bool big_endian) {
  uint64_t value = 0;
  for (uint32_t i = 0; i < size; ++i) {
    value |= std::to_integer<uint64_t>(bytes[i]) << (8 * (big_endian ? size - 1 - i : i));
  }
  return value;
}

double half_to_double(uint16_t half) {
  const int exponent = (half >> 10) & 0x1F;
  const double fraction = half & 0x3FF;
  double value;
  if (exponent == 0) {
    value = std::ldexp(fraction, -24);
  } else if (exponent == 31) {
    value = fraction == 0 ? INFINITY : NAN;
  } else {
    value = std::ldexp(fraction + 1024, exponent - 25);
  }
  return (half & 0x8000) != 0 ? -value : value;
}

double load_float(const std::byte* bytes, const NumpyDtype& dtype) {
  const uint64_t bits = load(bytes, dtype.item_size, dtype.big_endian);
  if (dtype.item_size == 8) return std::bit_cast<double>(bits);
  if (dtype.item_size == 4) return std::bit_cast<float>(static_cast<uint32_t>(bits));
  return half_to_double(static_cast<uint16_t>(bits));
}

int64_t load_signed(const std::byte* bytes, const NumpyDtype& dtype) {
  const int unused = 64 - 8 * static_cast<int>(dtype.item_size);
  const uint64_t value = load(bytes, dtype.item_size, dtype.big_endian);
  return static_cast<int64_t>(value << unused) >> unused;
}

// Reads a fixed-width UTF-32 text that is padded with zeros.
void read_utf32(const std::byte* bytes, const NumpyDtype& dtype, Cell& cell) {
  uint32_t size = dtype.item_size / 4;
  const auto at = [&](uint32_t i) {
    return static_cast<uint32_t>(load(bytes + 4 * size_t{i}, 4, dtype.big_endian));
  };
  while (size > 0 && at(size - 1) == 0) --size;
  std::string text;
  for (uint32_t i = 0; i < size; ++i) {
    if (at(i) > 0x10FFFF) throw Error(Code::kCorrupt, cat("a character of code ", at(i)));
    append_utf8(at(i), text);
  }
  set_text(text, cell);
}

bool is_known_size(char kind, uint32_t size) {
  const bool power = size == 1 || size == 2 || size == 4 || size == 8;
  switch (kind) {
    case 'b':
      return size == 1;
    case 'i':
    case 'u':
      return power;
    default:
      return size > 0;
  }
}

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
  const uint64_t wanted = product(array.shape, objects ? 1 : array.dtype.item_size);
  const uint64_t given = objects ? array.objects.size() : array.bytes.size();
  if (wanted != given) {
    throw Error(Code::kCorrupt, cat("an array of ", wanted, objects ? " objects" : " bytes",
                                    " that holds ", given));
  }
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
  NumpyDtype dtype;
  dtype.kind = code[0];
  const char* end = code.data() + code.size();
  const auto [stopped, error] = std::from_chars(code.data() + 1, end, dtype.item_size);
  if (error != std::errc() || stopped != end || dtype.item_size > INT32_MAX / 4) {
    throw Error(Code::kBadData, cat("an array of dtype ", global_name("numpy", code)));
  }
  if (dtype.kind == 'U') dtype.item_size *= 4;
  if (!is_known_size(dtype.kind, dtype.item_size)) {
    throw Error(Code::kBadData, cat("an array of dtype ", global_name("numpy", code)));
  }
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
  const std::byte* item = bytes.data() + index * dtype.item_size;
  switch (dtype.kind) {
    case 'b':
      cell = *item != std::byte{0};
      return;
    case 'i':
      cell = load_signed(item, dtype);
      return;
    case 'u': {
      const uint64_t value = load(item, dtype.item_size, dtype.big_endian);
      if (value <= INT64_MAX) {
        cell = static_cast<int64_t>(value);
      } else {
        cell = static_cast<double>(value);
      }
      return;
    }
    case 'f':
      if (dtype.item_size > 8) break;  // long double
      return set_float(load_float(item, dtype), cell);
    case 'S': {
      std::string_view text = as_text(bytes.subspan(index * dtype.item_size, dtype.item_size));
      text = text.substr(0, text.find_last_not_of('\0') + 1);
      return set_old_text(text, cell);
    }
    case 'U':
      return read_utf32(item, dtype, cell);
    default:
      break;
  }
  cell = std::monostate();
}

int64_t NumpyArray::integer(uint64_t index) const {
  const std::byte* item = bytes.data() + index * dtype.item_size;
  if (dtype.kind == 'i') return load_signed(item, dtype);
  return static_cast<int64_t>(load(item, dtype.item_size, dtype.big_endian));
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
