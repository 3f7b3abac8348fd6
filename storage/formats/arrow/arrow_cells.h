#pragma once

#include <cstdint>
#include <string>

#include "storage/formats/arrow/arrow_arrays.h"
#include "storage/formats/row_reader.h"

namespace berth::arrow {

// Turns the values of arrays into cells, as columnar/cell_maker.h says. A list, a map or a struct
// becomes JSON text. Each function throws kCorrupt where an offset leads outside its buffer, what
// CellMaker throws, and kBadData where JSON text exceeds 64 MiB.
class ArrowCells {
 public:
  // `row` is less than the length of the array.
  void make(const Array& array, uint64_t row, Cell& cell);

 private:
  // The array and the place at which the value lies; the array is null where there is no value.
  struct Place {
    const Array* array = nullptr;
    uint64_t row = 0;
  };
  static Place find(const Array& array, uint64_t row);
  void append(const Array& array, uint64_t row, int depth, std::string& json);
  void append_list(const Array& array, uint64_t row, int depth, std::string& json);
  void append_members(const Array& array, uint64_t row, int depth, std::string& json);
  void read(const Array& array, uint64_t row);

  columnar::Value value_;
  std::string json_, reversed_;
};

}  // namespace berth::arrow
