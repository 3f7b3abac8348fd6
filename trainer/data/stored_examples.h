#pragma once

#include <cstddef>
#include <cstdint>

#include "trainer/data/example.h"

namespace berth {

// Rows that an ExampleTable takes from where they lie, instead of keeping copies. Immutable and
// thread-safe.
class StoredExamples {
 public:
  virtual ~StoredExamples() = default;

  virtual size_t rows() const = 0;
  virtual Example read(uint32_t row) const = 0;
  // The size of the rows where they lie. It decides whether they are treated as rows on disk.
  virtual size_t size_bytes() const = 0;
};

}  // namespace berth
