#include "storage/formats/tensor_bundle/string_tensor.h"

#include <limits>

#include "storage/base/crc32c.h"
#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
namespace {

constexpr int64_t kMostElements = 1 << 20;

void require_room_for_sizes(Bytes data, int64_t elements) {
  if (static_cast<uint64_t>(elements) > data.size()) {
    throw Error(Code::kCorrupt, cat("sizes of ", elements, " elements in ", data.size(), " bytes"));
  }
}

}  // namespace

uint32_t string_tensor_crc32c(Bytes data, int64_t elements) {
  require_room_for_sizes(data, elements);
  Cursor cursor(data);
  uint32_t crc = 0;
  for (int64_t i = 0; i < elements; ++i) {
    const uint64_t size = cursor.varint();
    const bool is_small = size <= std::numeric_limits<uint32_t>::max();
    crc = crc32c(std::as_bytes(std::span(&size, 1)).first(is_small ? 4 : 8), crc);
  }
  const Bytes checksum = cursor.take(sizeof(uint32_t));
  if (crc32c_unmask(Cursor(checksum).u32()) != crc) {
    cursor.fail("the checksum of the elements' sizes does not match");
  }
  return crc32c(cursor.take(cursor.remaining()), crc32c(checksum, crc));
}

std::vector<std::string_view> string_tensor_elements(Bytes data, int64_t elements) {
  require_room_for_sizes(data, elements);
  if (elements > kMostElements) {
    throw Error(Code::kCorrupt, cat(elements, " strings, more than ", kMostElements));
  }
  Cursor cursor(data);
  std::vector<uint64_t> sizes;
  for (int64_t i = 0; i < elements; ++i) sizes.push_back(cursor.varint());
  cursor.skip(sizeof(uint32_t));
  std::vector<std::string_view> strings;
  for (const uint64_t size : sizes) strings.push_back(as_text(cursor.take(size)));
  if (!cursor.at_end()) cursor.fail(cat(cursor.remaining(), " bytes after the last element"));
  return strings;
}

}  // namespace berth
