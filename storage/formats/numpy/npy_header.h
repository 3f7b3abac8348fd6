#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/formats/numpy/numpy_element.h"

namespace berth {

// The header of a .npy file, which describes its array
// (numpy.org/doc/stable/reference/generated/numpy.lib.format):
//
//   "\x93NUMPY" | u8 version, u8 minor version | u16 size, from version 2 on u32 | a Python
//   literal:
//   {'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }
//   {'descr': [('text', '<U9'), ('label', '<i8')], 'fortran_order': False, 'shape': (3,), }
struct NpyHeader {
  struct Field {
    std::string name;
    NumpyDtype dtype;
    uint64_t offset = 0;  // in an element
  };
  bool is_structured = false;  // whether elements are records
  std::vector<Field> fields;   // of a record, without its padding; else one without a name
  uint64_t item_size = 0;      // bytes of an element
  bool is_column_major = false;
  std::vector<uint64_t> shape;
  uint64_t size_bytes = 0;  // of the header itself
};

// Reads the header at the start of `file`. Throws kCorrupt, naming the byte, where it is damaged,
// and kBadData where the elements are of a type that berth does not read.
NpyHeader read_npy_header(ByteSource& file);

// Fills `buffer`. Throws kCorrupt where `file` ends before.
void read_fully(ByteSource& file, std::span<std::byte> buffer);

}  // namespace berth
