#include "storage/base/parallel_crc32c.h"

#include <algorithm>
#include <thread>
#include <vector>

#include "storage/base/crc32c.h"

namespace berth {

uint32_t parallel_crc32c(Bytes bytes, uint32_t crc) {
  constexpr size_t kLeastBytes = size_t{8} << 20, kMostParts = 8;
  const size_t parts = std::min(
      {size_t{std::thread::hardware_concurrency()}, bytes.size() / kLeastBytes, kMostParts});
  if (parts < 2) return crc32c(bytes, crc);
  const auto part = [&](size_t i) {
    const size_t begin = bytes.size() * i / parts, end = bytes.size() * (i + 1) / parts;
    return bytes.subspan(begin, end - begin);
  };
  std::vector<uint32_t> crcs(parts);
  {
    std::vector<std::jthread> threads;
    for (size_t i = 1; i < parts; ++i) {
      threads.emplace_back([&, i] { crcs[i] = crc32c(part(i)); });
    }
    crc = crc32c(part(0), crc);
  }
  for (size_t i = 1; i < parts; ++i) crc = crc32c_combine(crc, crcs[i], part(i).size());
  return crc;
}

}  // namespace berth
