#pragma once

#include <memory>

#include "trainer/kernels/tensor.h"

namespace berth {

// Zeroed memory of this machine, aligned to 64 bytes. Large blocks come from the system on huge
// pages, zeroed as they are touched; small ones from the heap, where sanitizers see their ends.
// Throws kMemory.
std::unique_ptr<Memory> allocate_host(size_t size_bytes);
// The same on small pages: what is never touched, and not near what is, takes no memory.
std::unique_ptr<Memory> allocate_sparse_host(size_t size_bytes);

}  // namespace berth
