#pragma once

#include <cassert>
#include <cstdint>
#include <functional>
#include <string>

#include "storage/base/thread_pool.h"
#include "trainer/cpu/kernels/tensor.h"

namespace berth {

// Rows [row, row + rows) and columns [column, column + columns) of a product's result.
struct Tile {
  int64_t row, rows, column, columns;
};
using TileFunction = std::function<void(const Tile&)>;

struct TileSize {
  int64_t rows, columns;
};

// How many pieces of this size cover `size`.
inline int64_t pieces_of(int64_t size, int64_t piece) { return (size + piece - 1) / piece; }

// Cuts C [m,n], whose elements are sums of k products, into fixed tiles, one for each thread that
// is worth waking. Calls fn(tile, thread) on these threads, with denormals flushed. Tiles begin at
// multiples of `multiple`.
void for_each_tile(ThreadPool& pool, int64_t m, int64_t n, int64_t k, TileSize multiple,
                   const std::function<void(const Tile& tile, int thread)>& fn);

// The same with tiles of nearly the same size, at most `most` (a multiple of `multiple`), of which
// a thread may get several. Results must not depend on where C is cut.
void for_each_small_tile(ThreadPool& pool, int64_t m, int64_t n, int64_t k, TileSize multiple,
                         TileSize most,
                         const std::function<void(const Tile& tile, int thread)>& fn);

// A row-major factor of a product, in fp32 or bf16, with rows `stride` elements apart. Where it is
// transposed, the product takes it with rows and columns exchanged.
struct Factor {
  const std::byte* data = nullptr;  // null where the factor is packed elsewhere
  int64_t stride = 0;
  bool transposed = false;
  DType dtype = DType::kF32;

  Factor() = default;
  Factor(const float* values, int64_t row_stride, bool is_transposed = false)
      : data(reinterpret_cast<const std::byte*>(values)),
        stride(row_stride),
        transposed(is_transposed) {}
  Factor(const uint16_t* values, int64_t row_stride, bool is_transposed = false)
      : data(reinterpret_cast<const std::byte*>(values)),
        stride(row_stride),
        transposed(is_transposed),
        dtype(DType::kBF16) {}
  explicit Factor(ConstTensor matrix, bool is_transposed = false)
      : data(matrix.data),
        stride(matrix.columns()),
        transposed(is_transposed),
        dtype(matrix.dtype) {}

  // The factor from an element (row, column) on, as the product takes it.
  Factor from(int64_t row, int64_t column) const {
    Factor part = *this;
    const int64_t elements = transposed ? column * stride + row : row * stride + column;
    if (data != nullptr) part.data += elements * static_cast<int64_t>(size_of(dtype));
    return part;
  }
  // The elements. The dtype is asserted.
  const float* f32() const {
    assert(dtype == DType::kF32);
    return reinterpret_cast<const float*>(data);
  }
};

// C [m,n] = scale * A [m,k] B [k,n] + what `add` and `bias` say.
struct Product {
  int64_t m, n, k;
  Factor a, b;
  float* c;
  int64_t c_stride;
  float scale = 1;
  bool add = false;             // adds the product to what C holds
  const float* bias = nullptr;  // [n], added to every row of C; null: nothing is

  Product part(const Tile& tile) const;
};

// Writes the start values of a tile's sums to C: zeros or the bias. Does nothing where `add` is
// set.
void begin_sums(const Product& product, const Tile& tile);

// Makes the product on the calling thread. Several threads may call it at once.
void multiply(const Product& product);

// Makes the product on the threads of the pool, one fixed tile of C for each. `after`, which may be
// empty, is called for each tile on its thread.
void multiply(ThreadPool& pool, const Product& product, const TileFunction& after = {});

// Takes the sums of a tile, in rows of tile.columns, and may change them.
using SumsFunction = std::function<void(const Tile& tile, float* sums)>;

// Makes the product on the calling thread in tiles of at most `most`, for a C whose elements are
// needed only once. The sums of a tile lie in `room`, of most.rows * most.columns elements, until
// `use` has returned, and are stored nowhere else. product.c is null.
void multiply_in_tiles(const Product& product, TileSize most, float* room, const SumsFunction& use);

// The name of the kernels that OpenBLAS chose for this CPU, such as "Zen" or "SkylakeX".
std::string blas_core();

// Makes the packing buffer that OpenBLAS uses on the calling thread. Later calls on the same thread
// do nothing. Throws kMemory.
//
// Debian's serial OpenBLAS (0.3.21) takes buffers from a table that it does not lock. Two threads
// that multiply at once sometimes share a buffer, and both results are wrong. Therefore the linker
// (--wrap) replaces its blas_memory_alloc and blas_memory_free by functions that give every thread
// a buffer of its own.
void prepare_blas_buffer();

}  // namespace berth
