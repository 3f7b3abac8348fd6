#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "storage/formats/row_reader.h"

// The cells of a column of a pickled table. A CellSource is thread-safe, and a MemoryBudget is not.
namespace berth {

// The cells of one column. Each is converted when it is read.
class CellSource {
 public:
  virtual ~CellSource() = default;
  virtual uint64_t size() const = 0;

  // Sets `cell` to the cell at `index`, which must be below size(). Throws kBadData or kCorrupt if
  // the cell is invalid.
  virtual void read(uint64_t index, Cell& cell) const = 0;

  // What some of the cells are, in the plural, if they have no form as cells, so that they read as
  // missing: "timestamps". Otherwise empty. Looks at each cell.
  virtual std::string unreadable() const { return {}; }

  // Whether some cell is a list, array or dict, which is read as JSON text. Looks at each cell.
  virtual bool holds_nested() const { return false; }
};

// A column in which every cell is missing.
class MissingCells final : public CellSource {
 public:
  explicit MissingCells(uint64_t size) : size_(size) {}
  uint64_t size() const override { return size_; }
  void read(uint64_t, Cell& cell) const override { cell = std::monostate(); }

 private:
  const uint64_t size_;
};

// Limits the memory that reading a pickle may use beside the pickle itself. A pickle can write an
// object once and refer to it many times; code that copies the object for each reference must spend
// budget first.
class MemoryBudget {
 public:
  explicit MemoryBudget(uint64_t size_bytes) : left_(size_bytes) {}

  // Throws kBadData if fewer than `size_bytes` are left.
  void spend(uint64_t size_bytes);

 private:
  uint64_t left_;
};

// Sets `cell` to a text. Throws kBadData, naming the byte (from 1), if the text is not UTF-8.
void set_text(std::string_view text, Cell& cell);

// Sets `cell` to a text that Python 2 wrote as bytes. Bytes that are not UTF-8 are read as Latin-1.
void set_old_text(std::string_view text, Cell& cell);

// Sets `cell` to a number, or to missing if `value` is NaN.
void set_float(double value, Cell& cell);

// Returns the value as pandas displays it in names of columns and categories: "7", "0.5", "True",
// "nan".
std::string cell_text(const Cell& cell);

}  // namespace berth
