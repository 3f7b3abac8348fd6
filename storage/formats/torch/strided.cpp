#include "storage/formats/torch/strided.h"

#include <algorithm>
#include <cstring>

namespace berth {

bool Strided::is_empty() const { return std::find(shape.begin(), shape.end(), 0) != shape.end(); }

bool Strided::counts(uint64_t& elements) const {
  int64_t count = is_empty() ? 0 : 1;
  if (count != 0) {
    for (const int64_t size : shape) {
      if (__builtin_mul_overflow(count, size, &count)) return false;
    }
  }
  elements = static_cast<uint64_t>(count);
  return true;
}

bool Strided::fits(uint64_t offset, uint64_t elements) const {
  if (is_empty()) return offset <= elements;
  uint64_t last = offset;
  for (size_t i = 0; i < shape.size(); ++i) {
    uint64_t reach;
    if (__builtin_mul_overflow(static_cast<uint64_t>(shape[i] - 1),
                               static_cast<uint64_t>(stride[i]), &reach) ||
        __builtin_add_overflow(last, reach, &last)) {
      return false;
    }
  }
  return last < elements;
}

bool Strided::is_contiguous() const {
  if (is_empty()) return true;
  int64_t expected = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] != 1 && stride[i] != expected) return false;
    expected *= shape[i];
  }
  return true;
}

std::vector<std::byte> Strided::gather(const std::byte* first, size_t element_size) const {
  uint64_t elements = 0;
  counts(elements);
  std::vector<std::byte> gathered(elements * element_size);
  std::vector<int64_t> index(shape.size());
  uint64_t at = 0;  // may wrap around if a dimension of size 1 has an absurd stride
  for (std::byte* out = gathered.data(); out != gathered.data() + gathered.size();
       out += element_size) {
    std::memcpy(out, first + at * element_size, element_size);
    for (size_t i = shape.size(); i-- > 0;) {
      at += static_cast<uint64_t>(stride[i]);
      if (++index[i] < shape[i]) break;
      at -= static_cast<uint64_t>(shape[i]) * static_cast<uint64_t>(stride[i]);
      index[i] = 0;
    }
  }
  return gathered;
}

}  // namespace berth
