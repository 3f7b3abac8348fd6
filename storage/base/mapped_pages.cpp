#include "storage/base/mapped_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

namespace berth {

void release_pages(Bytes mapping, uint64_t offset, uint64_t size) {
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t end =
      offset + std::min(size, mapping.size() - std::min<uint64_t>(offset, mapping.size()));
  const uint64_t first = (offset + page - 1) / page * page, last = end / page * page;
  if (first >= last) return;
  void* const address = const_cast<std::byte*>(mapping.data() + first);
  madvise(address, last - first, MADV_DONTNEED);  // a hint: what fails changes nothing
}

}  // namespace berth
