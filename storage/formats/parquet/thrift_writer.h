#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "storage/formats/parquet/thrift_compact.h"

namespace berth {

// Writes Thrift's compact protocol. There is no schema here: the caller knows what a struct holds,
// and writes its fields in the order of their ids.
class ThriftWriter {
 public:
  // One field of the struct at hand.
  void integer(int32_t id, int32_t value) { number(id, ThriftType::kInt32, value); }
  void integer(int32_t id, int64_t value) { number(id, ThriftType::kInt64, value); }
  void text(int32_t id, std::string_view value);

  // A struct: the outermost one (no field id), a field, or an element of a list.
  template <typename Fill>
  void root(const Fill& fill) {
    nested(fill);
  }
  template <typename Fill>
  void structure(int32_t id, const Fill& fill) {
    field(id, ThriftType::kStruct);
    nested(fill);
  }
  // A field that is a list of `count` elements; fill() writes them, as element() or root().
  template <typename Fill>
  void list(int32_t id, ThriftType element, size_t count, const Fill& fill) {
    field(id, ThriftType::kList);
    list_header(element, count);
    fill();
  }
  void element(int32_t value) { zigzag(value); }
  void element(std::string_view value);

  const std::string& written() const { return written_; }

 private:
  template <typename Fill>
  void nested(const Fill& fill) {
    last_ids_.push_back(0);
    fill();
    written_.push_back('\0');
    last_ids_.pop_back();
  }
  void field(int32_t id, ThriftType type);
  void number(int32_t id, ThriftType type, int64_t value);
  void list_header(ThriftType element, size_t count);
  void varint(uint64_t value);
  void zigzag(int64_t value);

  std::string written_;
  std::vector<int32_t> last_ids_;  // the field last written of each struct that is open
};

}  // namespace berth
