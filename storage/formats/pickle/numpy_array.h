#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "storage/formats/numpy/numpy_element.h"
#include "storage/formats/pickle/cell_source.h"
#include "storage/formats/pickle/pickle_graph.h"
#include "storage/formats/row_reader.h"

// Numpy's arrays in a pickle. Thread-safe, as long as nobody changes the graph.
namespace berth {

// Sets `cell` to JSON text if the object is a list, tuple, set, one-dimensional array or dict. Each
// may hold others, up to kDeepestJson levels. Returns false for any other object. Elements that are
// neither text nor numbers become null. Throws kBadData on more than 64 MiB of text, because a
// pickle may refer to one object many times. Also throws it on deeper nesting, and on an object
// that contains itself. is_nested() only says whether the object is one of these.
bool is_nested(const PickleGraph& graph, NodeId id);
bool read_nested(const PickleGraph& graph, NodeId id, Cell& cell);

// Reads a numpy.dtype: REDUCE with (code, align, copy), BUILD with (version, order, ..., itemsize,
// ...).
NumpyDtype read_dtype(const PickleGraph& graph, NodeId id);

// A numpy array in a pickle. Its data are borrowed from the graph.
struct NumpyArray {
  NumpyDtype dtype;
  std::vector<uint64_t> shape;
  bool column_major = false;  // order of `bytes`; `objects` are always row-major
  Bytes bytes;                // elements x item_size, for every kind except O
  std::span<const NodeId> objects;

  uint64_t elements() const;

  // Sets `cell` to the element at `index` in storage order. Kinds that are neither text nor numbers
  // read as missing. Objects are read as by read_cell().
  void read(const PickleGraph& graph, uint64_t index, Cell& cell) const;

  // Returns the element at `index` of an array of kind i, u or b.
  int64_t integer(uint64_t index) const;
};

bool is_numpy_array(const PickleGraph& graph, NodeId id);

// Reads an array in either form: _reconstruct with BUILD (1, shape, dtype, fortran, data), or
// _frombuffer(buffer, dtype, shape, order). Throws kCorrupt unless the data fill the shape exactly.
NumpyArray read_numpy_array(const PickleGraph& graph, NodeId id);

// Returns the size of a one-dimensional array. Throws kBadData if it has a different number of
// dimensions.
uint64_t length_of(const NumpyArray& array);

// Sets `cell` to a Python object or numpy scalar. Anything but text and numbers reads as missing.
void read_object(const PickleGraph& graph, NodeId id, Cell& cell);

// Like read_object(), but a list or dict becomes JSON text, as by read_nested().
void read_cell(const PickleGraph& graph, NodeId id, Cell& cell);

// What an object is, in the plural, if it is a value and yet read_cell() reads it as missing:
// "dates or times". Otherwise empty.
std::string unreadable_object(const PickleGraph& graph, NodeId id);

// Returns `count` elements of `array`, starting at `first`, `stride` apart. All must lie within it.
std::unique_ptr<CellSource> array_cells(const PickleGraph& graph, NumpyArray array, uint64_t first,
                                        uint64_t stride, uint64_t count);

// Returns the objects of a list as cells.
std::unique_ptr<CellSource> object_cells(const PickleGraph& graph, std::span<const NodeId> items);

}  // namespace berth
