#include "storage/base/mapped_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

namespace berth {

void release_pages(Bytes mapping, uint64_t offset, uint64_t size) {
  // When one page is read, Linux also maps the pages around it, up to the size of a huge page. So
  // reading after a range brings back pages of that range.
  constexpr uint64_t kMostMappedAtOnce = uint64_t{2} << 20;
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  offset = std::min<uint64_t>(offset, mapping.size());
  const uint64_t end = offset + std::min(size, mapping.size() - offset);
  const auto begin = reinterpret_cast<uintptr_t>(mapping.data());  // at a page's begin
  const uint64_t before = std::min(offset, (begin + offset) % kMostMappedAtOnce);
  const uint64_t first = offset - before, last = end / page * page;
  if (first >= last) return;
  void* const address = const_cast<std::byte*>(mapping.data() + first);
  madvise(address, last - first, MADV_DONTNEED);  // a hint: what fails changes nothing
}

}  // namespace berth
