#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "storage/formats/pickle.h"

// Builds pickles by hand. Each function returns the opcodes that push one value.
namespace berth::pickled {

inline std::string little_endian(uint64_t value, int size) {
  std::string bytes;
  for (int i = 0; i < size; ++i) bytes += static_cast<char>(value >> (8 * i));
  return bytes;
}
inline std::string unicode(std::string_view text) {
  return "X" + little_endian(text.size(), 4) + std::string(text);
}
inline std::string bytes(std::string_view data) {
  return "B" + little_endian(data.size(), 4) + std::string(data);
}
inline std::string number(int64_t value) { return "I" + std::to_string(value) + "\n"; }
inline std::string global(const std::string& module, const std::string& name) {
  return "c" + module + "\n" + name + "\n";
}
template <typename... Items>
std::string tuple(const Items&... items) {
  return "(" + (std::string() + ... + std::string(items)) + "t";
}
template <typename... Items>
std::string list(const Items&... items) {
  return "(" + (std::string() + ... + std::string(items)) + "l";
}
template <typename... Items>
std::string dict(const Items&... items) {
  return "(" + (std::string() + ... + std::string(items)) + "d";
}
inline std::string reduce(const std::string& callable, const std::string& arguments) {
  return callable + arguments + "R";
}
inline std::string build(const std::string& object, const std::string& state) {
  return object + state + "b";
}

inline std::string dtype(std::string_view code, std::string_view order = "<") {
  return build(reduce(global("numpy", "dtype"), tuple(unicode(code), "I00\n", "I01\n")),
               tuple(number(3), unicode(order), "NNN", number(-1), number(-1), number(0)));
}
inline std::string array(const std::string& shape, const std::string& type, const std::string& data,
                         bool fortran = false) {
  return build(reduce(global("numpy.core.multiarray", "_reconstruct"),
                      tuple(global("numpy", "ndarray"), tuple(number(0)), bytes("b"))),
               tuple(number(1), shape, type, fortran ? "I01\n" : "I00\n", data));
}
inline std::string index_of(const std::string& data) {
  return reduce(global("pandas.core.indexes.base", "_new_Index"),
                tuple(global("pandas.core.indexes.base", "Index"),
                      dict(unicode("data"), data, unicode("name"), "N")));
}
inline std::string range_index(int64_t start, int64_t stop, int64_t step) {
  return reduce(global("pandas.core.indexes.base", "_new_Index"),
                tuple(global("pandas.core.indexes.range", "RangeIndex"),
                      dict(unicode("start"), number(start), unicode("stop"), number(stop),
                           unicode("step"), number(step), unicode("name"), "N")));
}
inline std::string slice(int64_t start, int64_t stop, int64_t step) {
  return reduce(global("builtins", "slice"), tuple(number(start), number(stop), number(step)));
}
inline std::string block(const std::string& values, const std::string& placement) {
  return reduce(global("pandas._libs.internals", "_unpickle_block"),
                tuple(values, placement, number(2)));
}
// A DataFrame. `columns` is an index; `blocks` holds the opcodes of all blocks, one after the
// other.
inline std::string frame(const std::string& columns, const std::string& blocks) {
  return build(
      global("pandas.core.frame", "DataFrame") + ")\x81",
      dict(unicode("_mgr"), reduce(global("pandas.core.internals.managers", "BlockManager"),
                                   tuple(tuple(blocks), list(columns, range_index(0, 1, 1))))));
}
// A DataFrame with one column "c", whose block holds `values`.
inline std::string column(const std::string& values) {
  return frame(index_of(list(unicode("c"))), block(values, slice(0, 1, 1)));
}

// Reads the pickle whose value `opcodes` push.
inline std::unique_ptr<RowReader> read(const std::string& opcodes) {
  const std::string pickle = "\x80\x04" + opcodes + ".";
  return read_pickle(as_bytes(pickle));
}

}  // namespace berth::pickled
