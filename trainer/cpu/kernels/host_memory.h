#pragma once

#include <cstddef>
#include <memory>

#include "trainer/cpu/kernels/tensor.h"

namespace berth {

// Zeroed memory of this machine, aligned to 64 bytes. Large blocks come from the system on huge
// pages, zeroed as they are touched; small ones from the heap, where sanitizers see their ends.
// Throws kMemory.
std::unique_ptr<Memory> allocate_host(size_t size_bytes);
// A part of a block to which nothing was written yet, from now on on small pages: what is never
// touched takes no memory.
void expect_sparse_host(std::byte* data, size_t size_bytes);

}  // namespace berth
