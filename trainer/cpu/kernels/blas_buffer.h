#pragma once

namespace berth {

// Gives the calling thread the packing buffer that OpenBLAS uses on it, once. Throws kMemory.
//
// Debian's serial OpenBLAS (0.3.21) picks buffers from a table that it does not lock, so two
// threads that multiply at once now and then share one, and both results are wrong. The linker
// therefore sends its blas_memory_alloc and blas_memory_free here (--wrap), where every thread has
// a buffer of its own.
void prepare_blas_buffer();

}  // namespace berth
