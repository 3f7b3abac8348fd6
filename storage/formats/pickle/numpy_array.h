#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "storage/formats/pickle/cell_source.h"
#include "storage/formats/pickle/pickle_graph.h"

namespace berth {

struct NumpyDtype {
  char kind = 'V';  // b i u f c S U M m V, or O for Python objects
  uint32_t item_size = 0;
  bool big_endian = false;
};

// numpy.dtype REDUCE (code, align, copy), BUILD (version, order, ..., itemsize, ...).
NumpyDtype read_dtype(const PickleGraph& graph, NodeId id);

// An array as a pickle holds it; borrowed from the graph.
struct NumpyArray {
  NumpyDtype dtype;
  std::vector<uint64_t> shape;
  bool column_major = false;  // of `bytes`; `objects` are always in row-major order
  Bytes bytes;                // elements x item_size, of every kind but O
  std::span<const NodeId> objects;

  uint64_t elements() const;

  // Element `index` in storage order. Kinds that are neither text nor numbers are missing;
  // objects are as read_cell() has them.
  void read(const PickleGraph& graph, uint64_t index, Cell& cell) const;

  // The same of an array of kind i, u or b.
  int64_t integer(uint64_t index) const;
};

bool is_numpy_array(const PickleGraph& graph, NodeId id);

// Either form: _reconstruct with BUILD (1, shape, dtype, fortran, data), or _frombuffer (buffer,
// dtype, shape, order). Throws kCorrupt when the data do not fill the shape exactly.
NumpyArray read_numpy_array(const PickleGraph& graph, NodeId id);

// Throws kBadData unless it has one dimension, whose size this returns.
uint64_t length_of(const NumpyArray& array);

// A Python object as a cell: numpy scalars too; anything but text and numbers is missing.
void read_object(const PickleGraph& graph, NodeId id, Cell& cell);

// The same, or a list or dict as JSON text.
void read_cell(const PickleGraph& graph, NodeId id, Cell& cell);

// `count` elements of `array`, from `first` on, every `stride`th; all within it.
std::unique_ptr<CellSource> array_cells(const PickleGraph& graph, NumpyArray array, uint64_t first,
                                        uint64_t stride, uint64_t count);

// The objects of a list.
std::unique_ptr<CellSource> object_cells(const PickleGraph& graph, std::span<const NodeId> items);

}  // namespace berth
