#include "trainer/cpu/kernels/gemm.h"

#include <sys/mman.h>

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <limits>
#include <string_view>

#include "storage/base/error.h"
#include "trainer/cpu/kernels/instruction_set.h"

#if __has_include(<openblas-serial/cblas.h>)  // Debian
#include <openblas-serial/cblas.h>
#elif __has_include(<openblas/cblas.h>)  // Fedora
#include <openblas/cblas.h>
#else
#include <cblas.h>
#endif

namespace berth {
namespace {

// A thread is woken only for this many multiplications and additions. They take a core about 10 us.
constexpr double kWorkPerThread = 5e5;

int64_t worthy_threads(const ThreadPool& pool, int64_t m, int64_t n, int64_t k) {
  const double work =
      2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  return static_cast<int64_t>(
      std::clamp(work / kWorkPerThread, 1.0, static_cast<double>(pool.size())));
}

struct Grid {
  int64_t rows = 1, columns = 1;
};

// Cuts C into at most `threads` tiles such that the largest tile is as small as possible. Among
// equal cuts it takes the one with the shortest edges, because every tile packs its rows of A and
// its columns of B.
Grid choose_grid(int64_t m, int64_t n, TileSize multiple, int64_t threads) {
  const int64_t high = pieces_of(m, multiple.rows), wide = pieces_of(n, multiple.columns);
  Grid best;
  double best_work = std::numeric_limits<double>::max(), best_edges = best_work;
  for (int64_t rows = 1; rows <= threads; ++rows) {
    const Grid grid{std::min(rows, high), std::min(threads / rows, wide)};
    const auto height = static_cast<double>(pieces_of(high, grid.rows) * multiple.rows);
    const auto width = static_cast<double>(pieces_of(wide, grid.columns) * multiple.columns);
    if (height * width < best_work ||
        (height * width == best_work && height + width < best_edges)) {
      best = grid;
      best_work = height * width;
      best_edges = height + width;
    }
  }
  return best;
}

// Where part i of `parts` of [0, size) begins.
int64_t cut(int64_t size, int64_t multiple, int64_t parts, int64_t i) {
  return std::min(size, pieces_of(size, multiple) * i / parts * multiple);
}

void run_grid(ThreadPool& pool, const Grid& grid, int64_t m, int64_t n, TileSize multiple,
              const std::function<void(const Tile&, int)>& fn) {
  pool.parallel_for(grid.rows * grid.columns, 1, [&](int64_t begin, int64_t end, int thread) {
    const FlushDenormals flush;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t r = i / grid.columns, c = i % grid.columns;
      Tile tile;
      tile.row = cut(m, multiple.rows, grid.rows, r);
      tile.rows = cut(m, multiple.rows, grid.rows, r + 1) - tile.row;
      tile.column = cut(n, multiple.columns, grid.columns, c);
      tile.columns = cut(n, multiple.columns, grid.columns, c + 1) - tile.column;
      fn(tile, thread);
    }
  });
}

}  // namespace

void for_each_tile(ThreadPool& pool, int64_t m, int64_t n, int64_t k, TileSize multiple,
                   const std::function<void(const Tile&, int)>& fn) {
  if (m == 0 || n == 0) return;
  run_grid(pool, choose_grid(m, n, multiple, worthy_threads(pool, m, n, k)), m, n, multiple, fn);
}

// Each thread gets the same number of tiles, in the order of their rows. A thread thus has the same
// rows in one product and in the next, and finds them in its cache. Threads share columns rather
// than rows, because a tile packs its own rows. If there are so few rows that packed columns would
// hardly be used, threads share rows.
void for_each_small_tile(ThreadPool& pool, int64_t m, int64_t n, int64_t k, TileSize multiple,
                         TileSize most,
                         const std::function<void(const Tile& tile, int thread)>& fn) {
  constexpr int64_t kLeastHigh = 4;
  if (m == 0 || n == 0) return;
  const int64_t threads = worthy_threads(pool, m, n, k);
  const int64_t high = pieces_of(m, multiple.rows), wide = pieces_of(n, multiple.columns);
  int64_t down = threads;  // strips of rows; the remaining threads cut columns
  while (down > 1 && (threads % down != 0 || high < kLeastHigh * down)) --down;
  const auto tiles = [](int64_t size, int64_t at_most, int64_t cuts) {
    return std::min(size, pieces_of(pieces_of(size, at_most), cuts) * cuts);
  };
  const Grid grid{tiles(high, most.rows / multiple.rows, down),
                  tiles(wide, most.columns / multiple.columns, threads / down)};
  run_grid(pool, grid, m, n, multiple, fn);
}

namespace {

// Tiles begin at whole vectors, and are about as large as the micro-kernels' blocks.
constexpr TileSize kMultiple{16, 16};

blasint narrow(int64_t size) {
  assert(size >= 0 && size <= std::numeric_limits<blasint>::max());
  return static_cast<blasint>(size);
}

}  // namespace

Product Product::part(const Tile& tile) const {
  Product part = *this;
  part.m = tile.rows;
  part.n = tile.columns;
  part.a = a.from(tile.row, 0);
  part.b = b.from(0, tile.column);
  if (c != nullptr) part.c = c + tile.row * c_stride + tile.column;
  if (bias != nullptr) part.bias = bias + tile.column;
  return part;
}

void begin_sums(const Product& p, const Tile& tile) {
  assert(!p.add || p.bias == nullptr);
  if (p.add) return;
  for (int64_t row = tile.row; row < tile.row + tile.rows; ++row) {
    float* const sums = p.c + row * p.c_stride + tile.column;
    if (p.bias != nullptr) {
      std::copy_n(p.bias + tile.column, tile.columns, sums);
    } else {
      std::fill_n(sums, tile.columns, 0.0f);
    }
  }
}

void multiply(const Product& p) {
  if (p.m == 0 || p.n == 0) return;
  if (p.bias != nullptr) begin_sums(p, {0, p.m, 0, p.n});
  prepare_blas_buffer();
  cblas_sgemm(CblasRowMajor, p.a.transposed ? CblasTrans : CblasNoTrans,
              p.b.transposed ? CblasTrans : CblasNoTrans, narrow(p.m), narrow(p.n), narrow(p.k),
              p.scale, p.a.f32(), narrow(p.a.stride), p.b.f32(), narrow(p.b.stride),
              p.add || p.bias != nullptr ? 1.0f : 0.0f, p.c, narrow(p.c_stride));
}

void multiply(ThreadPool& pool, const Product& product, const TileFunction& after) {
  for_each_tile(pool, product.m, product.n, product.k, kMultiple, [&](const Tile& tile, int) {
    multiply(product.part(tile));
    if (after) after(tile);
  });
}

void multiply_in_tiles(const Product& product, TileSize most, float* room,
                       const SumsFunction& use) {
  for (int64_t row = 0; row < product.m; row += most.rows) {
    for (int64_t column = 0; column < product.n; column += most.columns) {
      const Tile tile{row, std::min(most.rows, product.m - row), column,
                      std::min(most.columns, product.n - column)};
      Product part = product.part(tile);
      part.c = room;
      part.c_stride = tile.columns;
      multiply(part);
      use(tile, room);
    }
  }
}

}  // namespace berth

// NOLINTBEGIN(readability-identifier-naming): names of OpenBLAS. Its library has the second and the
// third only where it was built to choose its kernels when the program starts.
extern "C" {
char* openblas_get_corename();
[[gnu::weak]] void gotoblas_dynamic_init();
[[gnu::weak]] void gotoblas_dynamic_quit();
}
// NOLINTEND(readability-identifier-naming)

namespace berth {
namespace {

// The core whose kernels use the widest instructions of this CPU, or null below AVX2.
const char* widest_core() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    return "SkylakeX";
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "Haswell";
#endif
  return nullptr;
}

// OpenBLAS knows CPUs by their model numbers. One that is newer than the library gets "Prescott",
// which has SSE3 alone: in fp32, BERT-base trained six times slower on a Xeon with AVX-512 than it
// does with the core for AVX-512. The choice is therefore made again for such a CPU, by its
// instructions. This runs before OpenBLAS starts, because a constructor with a priority comes
// before those without. A core that the user names in OPENBLAS_CORETYPE stays.
[[gnu::constructor(101)]] void choose_core() {
#if defined(__x86_64__)
  __builtin_cpu_init();
#endif
  const char* const core = widest_core();
  if (core == nullptr || gotoblas_dynamic_init == nullptr || gotoblas_dynamic_quit == nullptr) {
    return;
  }
  gotoblas_dynamic_init();
  if (std::string_view(openblas_get_corename()) != "Prescott") return;
  gotoblas_dynamic_quit();
  ::setenv("OPENBLAS_CORETYPE", core, 0);
  gotoblas_dynamic_init();
}

}  // namespace

std::string blas_core() { return openblas_get_corename(); }

namespace {

// The BUFFER_SIZE of OpenBLAS. Pages that are never written take no memory.
constexpr size_t kBufferBytes = size_t{32} << 22;

class Buffer {
 public:
  Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() {
    if (memory_ != nullptr) ::munmap(memory_, kBufferBytes);
  }

  void prepare() {
    if (memory_ != nullptr) return;
    void* memory = ::mmap(nullptr, kBufferBytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
      throw Error(Code::kMemory, "no address space for a matrix product's buffer", "",
                  "raise the limit on virtual memory or lower --threads");
    }
    memory_ = memory;
  }

  void* take() {
    assert(memory_ != nullptr && !taken_);
    taken_ = true;
    return memory_;
  }
  void give_back() { taken_ = false; }

 private:
  void* memory_ = nullptr;
  bool taken_ = false;
};

thread_local Buffer buffer;

}  // namespace

void prepare_blas_buffer() { buffer.prepare(); }

// NOLINTBEGIN(bugprone-reserved-identifier): the linker's --wrap asks for these names.
extern "C" void* __wrap_blas_memory_alloc(int) { return buffer.take(); }
extern "C" void __wrap_blas_memory_free(void*) { buffer.give_back(); }
// NOLINTEND(bugprone-reserved-identifier)

}  // namespace berth
