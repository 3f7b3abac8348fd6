#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "storage/formats/row_reader.h"

namespace berth {

// The cells of one column, made when they are asked for.
class CellSource {
 public:
  virtual ~CellSource() = default;
  virtual uint64_t size() const = 0;

  // Sets `cell` to the one at `index` < size(). Throws kBadData or kCorrupt when it is not valid.
  virtual void read(uint64_t index, Cell& cell) const = 0;
};

// All missing.
class MissingCells final : public CellSource {
 public:
  explicit MissingCells(uint64_t size) : size_(size) {}
  uint64_t size() const override { return size_; }
  void read(uint64_t, Cell& cell) const override { cell = std::monostate(); }

 private:
  const uint64_t size_;
};

// What a pickle may make us hold beside it. A shared object is written once and may be named many
// times; whoever copies it for each mention pays first.
class MemoryBudget {
 public:
  explicit MemoryBudget(uint64_t size_bytes) : left_(size_bytes) {}

  // Throws kBadData when no `size_bytes` are left.
  void spend(uint64_t size_bytes);

 private:
  uint64_t left_;
};

// Text, which must be UTF-8 (kBadData, naming the byte, from 1).
void set_text(std::string_view text, Cell& cell);

// Text that Python 2 wrote as bytes: UTF-8 where it is, else Latin-1.
void set_old_text(std::string_view text, Cell& cell);

// NaN is missing.
void set_float(double value, Cell& cell);

// As pandas shows it, for names of columns and categories: "7", "0.5", "True", "nan".
std::string cell_text(const Cell& cell);

}  // namespace berth
