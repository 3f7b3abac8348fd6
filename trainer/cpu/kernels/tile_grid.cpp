#include "trainer/cpu/kernels/tile_grid.h"

#include <algorithm>
#include <limits>

#include "trainer/cpu/kernels/flush_denormals.h"

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

int64_t pieces_of(int64_t size, int64_t multiple) { return (size + multiple - 1) / multiple; }

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

}  // namespace berth
