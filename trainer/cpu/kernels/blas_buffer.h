#pragma once

namespace berth {

// Makes the packing buffer that OpenBLAS uses on the calling thread. Later calls on the same thread
// do nothing. Throws kMemory.
//
// Debian's serial OpenBLAS (0.3.21) takes buffers from a table that it does not lock. Two threads
// that multiply at once sometimes share a buffer, and both results are wrong. Therefore the linker
// (--wrap) replaces its blas_memory_alloc and blas_memory_free by functions that give every thread
// a buffer of its own.
void prepare_blas_buffer();

}  // namespace berth
