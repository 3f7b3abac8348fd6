// Products in bf16 with every set of loops that this CPU can run.

#include "trainer/cpu/kernels/bf16/bf16_products.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "storage/base/text.h"
#include "tests/support/emulated_tiles.h"
#include "tests/support/trapped_tiles.h"
#include "tests/trainer/cpu/kernels/reference.h"

namespace berth {
namespace {

struct Shape {
  int64_t m, n, k;
};

// Small integers. bf16 represents them exactly, and fp32 represents their sums exactly.
std::vector<float> small_integers(int64_t count, int salt) {
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>((i * 7 + static_cast<size_t>(salt)) % 11) - 5;
  }
  return values;
}

// The same numbers in bf16.
std::vector<uint16_t> in_bf16(const std::vector<float>& values) {
  std::vector<uint16_t> rounded;
  for (const float value : values) {
    rounded.push_back(static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16));
  }
  return rounded;
}

std::vector<std::byte> bytes_of(const Bf16Matrix& matrix) {
  return {matrix.panels.data(), matrix.panels.data() + matrix.panels.size_bytes()};
}

#if defined(__x86_64__)
// Asks the CPU and not multiplies(): loops that multiply wrongly must fail their tests and not be
// skipped.
bool has_avx512_bf16() { return __builtin_cpu_supports("avx512bf16"); }
#endif

class Bf16ProductsTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    loops_ = find_loops(GetParam());
    if (loops_ == nullptr) GTEST_SKIP() << "NOT TESTED HERE: this CPU has no AVX512_BF16";
    products_.emplace(pool_, *loops_);
  }

  const Bf16Loops* find_loops(std::string_view name) {
    if (name == "Portable") return &bf16_portable::loops;
    if (name == "EmulatedTiles") return &emulated_tile_loops;
#if defined(__x86_64__)
    if (!has_avx512_bf16()) return nullptr;
    if (name == "AVX512_BF16") return &bf16_avx512::loops;
    const auto native = native_bf16_loops();  // also asks the operating system for the tiles
    if (native.empty() || native.front() != &bf16_amx::loops) trapped_.emplace();
    return &bf16_amx::loops;
#else
    return nullptr;
#endif
  }

  // Multiplies in tiles on the pool, and puts the sums where C would be.
  std::vector<float> in_tiles(Product product, const Bf16Part* right) {
    std::vector<float> sums(static_cast<size_t>(product.m * product.n), -1);
    product.c = nullptr;
    products_->multiply_in_tiles(product, right, [&](const Tile& tile, const float* from) {
      for (int64_t i = 0; i < tile.rows; ++i) {
        std::copy_n(from + i * tile.columns, tile.columns,
                    sums.data() + (tile.row + i) * product.n + tile.column);
      }
    });
    return sums;
  }

  // Compares C with its definition. With `packed`, the pool multiplies by a right factor that was
  // packed before. Otherwise both the pool and one thread alone multiply by an unpacked factor. The
  // unpacked factors are fp32, or bf16 with `rounded`.
  enum class Start { kZero, kC, kBias };
  void check(const Shape& shape, bool left_transposed, bool right_transposed, Start start,
             bool packed, bool rounded) {
    const auto [m, n, k] = shape;
    // The strides exceed the rows, as in a part of a larger matrix.
    const int64_t a_stride = (left_transposed ? m : k) + 3;
    const int64_t b_stride = (right_transposed ? k : n) + 5, c_stride = n + 2;
    const auto a = small_integers((left_transposed ? k : m) * a_stride, 1);
    const auto b = small_integers((right_transposed ? n : k) * b_stride, 2);
    std::vector<float> c = small_integers(m * c_stride, 3), expected = c;
    const std::vector<float> bias = small_integers(n, 4);
    const std::vector<uint16_t> rounded_a = in_bf16(a), rounded_b = in_bf16(b);
    const Factor left{a.data(), a_stride, left_transposed};
    const Factor right_factor{b.data(), b_stride, right_transposed};
    const Product product{
        .m = m,
        .n = n,
        .k = k,
        .a = rounded ? Factor(rounded_a.data(), a_stride, left_transposed) : left,
        .b = rounded ? Factor(rounded_b.data(), b_stride, right_transposed) : right_factor,
        .c = c.data(),
        .c_stride = c_stride,
        .add = start == Start::kC,
        .bias = start == Start::kBias ? bias.data() : nullptr};
    for (int64_t i = 0; start != Start::kC && i < m; ++i) {
      float* const row = expected.data() + i * c_stride;
      std::fill_n(row, n, 0.0f);
      if (start == Start::kBias) std::copy_n(bias.data(), n, row);
    }
    Product plain = product;
    plain.a = left;
    plain.b = right_factor;
    plain.c = expected.data();
    reference::add_product(plain);
    const std::string what =
        cat(m, "x", n, "x", k, " transposed ", left_transposed, right_transposed, " start ",
            static_cast<int>(start), " rounded ", rounded);
    const std::vector<float> before = c;
    std::vector<float> sums;  // without the columns between the rows of C
    for (int64_t i = 0; i < m; ++i) {
      const auto row = expected.begin() + i * c_stride;
      sums.insert(sums.end(), row, row + n);
    }
    if (packed) {
      Bf16Matrix right = products_->make_matrix(k, n), transposed = products_->make_matrix(n, k);
      products_->pack(product.b, right, &transposed);
      const Bf16Part whole = right.whole();
      products_->multiply(product, &whole);
      EXPECT_EQ(c, expected) << what << " packed";
      if (start != Start::kC) {
        EXPECT_EQ(in_tiles(product, &whole), sums) << what << " packed, in tiles";
      }
      return;
    }
    products_->multiply(product, nullptr);
    EXPECT_EQ(c, expected) << what;
    if (start != Start::kC) {
      EXPECT_EQ(in_tiles(product, nullptr), sums) << what << " in tiles";
    }
    c = before;
    products_->multiply_alone(product, 2);
    EXPECT_EQ(c, expected) << what << " alone";
  }

  void check_all(const Shape& shape) {
    for (const Start start : {Start::kZero, Start::kC, Start::kBias}) {
      for (int choice = 0; choice < 16; ++choice) {
        check(shape, choice & 1, choice & 2, start, choice & 4, choice & 8);
      }
    }
  }

  const Bf16Loops* loops_ = nullptr;
#if defined(__x86_64__)
  std::optional<TrappedTiles> trapped_;  // emulates tiles if the CPU has no AMX
#endif
  ThreadPool pool_{3};
  std::optional<Bf16Products> products_;
};

TEST_P(Bf16ProductsTest, PassTheCheckBeforeUse) { EXPECT_TRUE(multiplies(*loops_)); }

TEST_P(Bf16ProductsTest, AgreeWithTheirDefinitionAtEveryEdge) {
  for (const int64_t m : {1, 5, 12, 13, 32, 39}) {
    for (const int64_t n : {1, 16, 31, 33, 64}) {
      for (const int64_t k : {1, 2, 31, 34, 64}) check_all({m, n, k});
    }
  }
}

TEST_P(Bf16ProductsTest, AgreeOverSeveralSlabs) {
  check_all({205, 33, 40});
  check_all({13, 801, 10});
  check_all({14, 33, 999});
  check_all({3, 33, 2601});
}

// Products of at most 1,056 rows keep all rows packed and pack the columns panel by panel.
TEST_P(Bf16ProductsTest, AgreeAtAndAboveTheLimitOfFewRows) {
  for (const Shape& shape : {Shape{1056, 33, 2}, Shape{1056, 3, 330}, Shape{1089, 33, 2}}) {
    for (const Start start : {Start::kC, Start::kBias}) {
      for (const bool transposed : {false, true}) {
        for (const bool rounded : {false, true}) {
          check(shape, transposed, rounded, start, /*packed=*/false, rounded);
        }
      }
    }
  }
}

// Tiles read such rows where they lie, and pack the rest of them.
TEST_P(Bf16ProductsTest, AgreeWhereRowsAreReadInPlace) {
  const auto check_in_place = [&](const Shape& shape, Start start) {
    check(shape, false, true, start, /*packed=*/true, /*rounded=*/true);
  };
  for (const int64_t m : {31, 32, 64, 290}) {
    for (const int64_t n : {32, 40}) {
      for (const Start start : {Start::kZero, Start::kC, Start::kBias}) {
        check_in_place({m, n, 96}, start);
      }
    }
  }
  check_in_place({290, 1600, 32}, Start::kC);    // several tiles each way
  check_in_place({70, 64, 3072}, Start::kBias);  // tiles of few rows
}

TEST_P(Bf16ProductsTest, OfDepthZeroEqualTheirAddend) { check_all({5, 40, 0}); }

TEST_P(Bf16ProductsTest, RoundFactorsToNearestTiesToEven) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  // 1 + 2^-8 lies between two neighbours, 1 and 1 + 2^-7; so does 1 + 3 * 2^-8.
  const std::vector<float> x = {1 + 0x1p-8f, 1 + 3 * 0x1p-8f, 1 + 0x1.1p-8f, -1 - 0x1.1p-8f,
                                3.14159265f, -1e-20f,         kInfinity,     0x1.fffffep127f};
  const std::vector<float> rounded = {1,         1 + 4 * 0x1p-8f, 1 + 0x1p-7f, -1 - 0x1p-7f,
                                      3.140625f, -0x1.7ap-67f,    kInfinity,   kInfinity};
  const std::vector<float> one = {1};
  std::vector<float> left(8), right(8);
  products_->multiply({8, 1, 1, {x.data(), 1}, {one.data(), 1}, left.data(), 1}, nullptr);
  products_->multiply({1, 8, 1, {one.data(), 1}, {x.data(), 8}, right.data(), 8}, nullptr);
  EXPECT_EQ(left, rounded);
  EXPECT_EQ(right, rounded);
  const std::vector<float> nan = {std::bit_cast<float>(0x7f800001u)};  // has only low bits set
  products_->multiply({1, 1, 1, {nan.data(), 1}, {one.data(), 1}, left.data(), 1}, nullptr);
  EXPECT_TRUE(std::isnan(left[0]));
}

TEST_P(Bf16ProductsTest, PackAFactorAndItsTransposeTheSameEitherWay) {
  for (const int64_t depth : {1, 31, 64, 70}) {
    for (const int64_t columns : {1, 32, 47, 100}) {
      const int64_t stride = columns + 3;
      const auto values = small_integers(depth * stride, 4);
      Bf16Matrix packed = products_->make_matrix(depth, columns);
      Bf16Matrix transposed = products_->make_matrix(columns, depth);
      products_->pack({values.data(), stride}, packed, &transposed);
      Bf16Matrix packed_last = products_->make_matrix(depth, columns);
      Bf16Matrix transposed_first = products_->make_matrix(columns, depth);
      products_->pack({values.data(), stride, true}, transposed_first, &packed_last);
      EXPECT_EQ(bytes_of(packed), bytes_of(packed_last)) << depth << "x" << columns;
      EXPECT_EQ(bytes_of(transposed), bytes_of(transposed_first)) << depth << "x" << columns;
      Bf16Matrix alone = products_->make_matrix(depth, columns);
      products_->pack({values.data(), stride}, alone, nullptr);
      EXPECT_EQ(bytes_of(packed), bytes_of(alone)) << depth << "x" << columns;
    }
  }
}

// Packed factors of this size are written past the caches.
TEST_P(Bf16ProductsTest, PackLargeFactorsAsThePortableLoopsDo) {
  constexpr int64_t kDepth = 1024, kColumns = 992;
  const auto values = small_integers(kDepth * kColumns, 4);
  std::vector<std::vector<std::byte>> packed;
  for (const Bf16Loops* loops : {loops_, &bf16_portable::loops}) {
    Bf16Products products(pool_, *loops);
    Bf16Matrix one = products.make_matrix(kDepth, kColumns);
    Bf16Matrix other = products.make_matrix(kColumns, kDepth);
    products.pack({values.data(), kColumns}, one, &other);
    packed.push_back(bytes_of(one));
    packed.push_back(bytes_of(other));
  }
  EXPECT_EQ(packed[0], packed[2]);
  EXPECT_EQ(packed[1], packed[3]);
}

TEST_P(Bf16ProductsTest, SumsInTilesEqualThoseOfMultiply) {
  constexpr TileSize kMost{96, 64};
  std::vector<float> room(kMost.rows * kMost.columns);
  for (const auto& [m, n, k] : std::vector<Shape>{
           {5, 3, 1}, {97, 65, 30}, {300, 1601, 7}, {33, 40, kDeepestInTiles}, {40, 33, 0}}) {
    const auto a = small_integers(k * m, 1), b = small_integers(k * n, 2);
    std::vector<float> c(static_cast<size_t>(m * n)), tiled(c.size(), -1);
    Product product{m, n, k, {a.data(), m, true}, {b.data(), n}, c.data(), n};
    products_->multiply(product, nullptr);
    product.c = nullptr;
    products_->multiply_in_tiles(product, kMost, room.data(), /*thread=*/2,
                                 [&](const Tile& tile, float* sums) {
                                   EXPECT_LE(tile.rows, kMost.rows);
                                   EXPECT_LE(tile.columns, kMost.columns);
                                   for (int64_t i = 0; i < tile.rows; ++i) {
                                     std::copy_n(sums + i * tile.columns, tile.columns,
                                                 tiled.data() + (tile.row + i) * n + tile.column);
                                   }
                                 });
    EXPECT_EQ(tiled, c) << cat(m, " x ", n, " x ", k);
  }
}

// The largest depth needs more scratch memory than there is, and takes one panel of columns at a
// time.
TEST_P(Bf16ProductsTest, SumsInTilesOnThePoolEqualThoseOfMultiply) {
  for (const auto& [m, n, k] : std::vector<Shape>{{5, 3, 1},
                                                  {200, 65, 330},
                                                  {300, 1601, 7},
                                                  {40, 33, 0},
                                                  {9, 70, 22000},
                                                  {2, 33, 62000}}) {
    const auto a = small_integers(k * m, 1), b = small_integers(k * n, 2);
    std::vector<float> c(static_cast<size_t>(m * n));
    const Product product{m, n, k, {a.data(), m, true}, {b.data(), n}, c.data(), n};
    products_->multiply(product, nullptr);
    EXPECT_EQ(in_tiles(product, nullptr), c) << cat(m, " x ", n, " x ", k);
  }
}

TEST_P(Bf16ProductsTest, DoNotDependOnTheNumberOfThreads) {
  constexpr int64_t kSize = 333;
  std::vector<float> a(kSize * kSize), b(kSize * kSize), first;
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = std::sin(static_cast<float>(i));
    b[i] = std::cos(static_cast<float>(i));
  }
  for (const int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    std::vector<float> c(kSize * kSize);
    Bf16Products(pool, *loops_)
        .multiply({kSize, kSize, kSize, {a.data(), kSize}, {b.data(), kSize}, c.data(), kSize},
                  nullptr);
    if (first.empty()) first = c;
    EXPECT_EQ(c, first) << threads;
  }
}

INSTANTIATE_TEST_SUITE_P(Cpu, Bf16ProductsTest,
                         testing::Values("Portable", "EmulatedTiles", "AVX512_BF16", "AMX_BF16"),
                         [](const auto& loops) { return loops.param; });

#if defined(__x86_64__)

void expect_equal_packing(const Bf16Loops& loops, const Bf16Loops& slow) {
  constexpr int64_t kStride = 70;
  ASSERT_EQ(loops.panel_rows, slow.panel_rows);
  std::vector<float> values;
  for (int i = 0; i < kStride * kStride; ++i) values.push_back(std::sin(static_cast<float>(i)));
  const std::vector<uint16_t> cut = in_bf16(values);
  for (const int choice : {0, 1, 2, 3}) {
    const bool transposed = choice & 1, is_bf16 = choice & 2;
    for (const int64_t count : {1, 11, 12, 13, 15, 16, 17, 24, 31, 32, 33, 65}) {
      for (const int64_t depth : {1, 2, 31, 32, 33, 49, 64, 65}) {
        const Lanes lanes{.data = is_bf16 ? static_cast<const void*>(cut.data()) : values.data(),
                          .lane_stride = transposed ? 1 : kStride,
                          .depth_stride = transposed ? kStride : 1,
                          .count = count,
                          .depth = depth,
                          .is_bf16 = is_bf16};
        for (const auto pack : {&Bf16Loops::pack_rows, &Bf16Loops::pack_columns}) {
          if (pack == &Bf16Loops::pack_columns && count > kPanelColumns) continue;
          std::vector<uint16_t> panels(96 * 96, 7), expected = panels;
          (loops.*pack)(lanes, panels.data());
          (slow.*pack)(lanes, expected.data());
          EXPECT_EQ(panels, expected) << cat(choice, " ", count, " ", depth);
        }
      }
    }
  }
}

TEST(Bf16Loops, ForAvx512PackAsThePortableOnes) {
  if (!has_avx512_bf16()) GTEST_SKIP() << "NOT TESTED HERE: this CPU has no AVX512_BF16";
  expect_equal_packing(bf16_avx512::loops, bf16_portable::loops);
}

// Packing for AMX runs without AMX, so any CPU with AVX512_BF16 tests it.
TEST(Bf16Loops, ForAmxPackAsTheEmulatedOnes) {
  if (!has_avx512_bf16()) GTEST_SKIP() << "NOT TESTED HERE: this CPU has no AVX512_BF16";
  expect_equal_packing(bf16_amx::loops, emulated_tile_loops);
}

#endif

TEST(Bf16Loops, ThatMultiplyWronglyFailTheCheck) {
  Bf16Loops wrong = bf16_portable::loops;
  wrong.multiply = [](const uint16_t* a, const uint16_t* b, int64_t depth, int64_t rows,
                      int64_t columns, const Addend& addend, float* c, int64_t c_stride) {
    bf16_portable::loops.multiply(a, b, depth, rows, columns, addend, c, c_stride);
    c[(rows - 1) * c_stride + columns - 1] += 1;
  };
  EXPECT_FALSE(multiplies(wrong));
}

}  // namespace
}  // namespace berth
