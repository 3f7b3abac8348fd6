#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "storage/formats/columnar/leaf_type.h"
#include "storage/formats/row_reader.h"

namespace berth::columnar {

// Turns the values of a leaf into cells, by what the schema says they mean:
//   - text as it is; bytes without a meaning are text where they are valid UTF-8, else missing
//   - integers, also unsigned ones; above INT64_MAX they become doubles, as decimals do
//   - dates and times as pandas prints them: 2024-02-29, 2024-02-29 12:00:00.5, 12:00:00
//   - a UUID in its usual form
//   - integers that stand for the `names` of classes as these names; -1, by which Hugging Face's
//     datasets mark rows without a label, is missing
// Other meanings are missing.
class CellMaker {
 public:
  explicit CellMaker(const LeafType& leaf, std::vector<std::string> names = {});

  // Throws kBadData on text that is not UTF-8 and on an integer that stands for no class. Also
  // throws it if a value's number of bytes is wrong for its meaning.
  void make(const Value& value, Cell& cell) const;
  void append_json(const Value& value, std::string& json) const;

  // The names of classes for which the integers stand; empty: none.
  const std::vector<std::string>& names() const { return names_; }

 private:
  enum class Kind {
    kMissing,
    kBoolean,
    kInteger,
    kUnsigned,
    kClass,
    kReal,
    kHalf,
    kText,
    kBytes,
    kDecimal,
    kDecimalBytes,
    kDate,
    kTime,
    kTimestamp,
    kInt96,
    kUuid,
  };
  static Kind kind_of(const LeafType& leaf, bool has_names);
  static Kind kind_of_bytes(const LeafType& leaf);
  void make_unsigned(int64_t value, Cell& cell) const;
  void make_class(int64_t value, Cell& cell) const;

  const LeafType leaf_;
  const std::vector<std::string> names_;
  const Kind kind_;
};

}  // namespace berth::columnar
