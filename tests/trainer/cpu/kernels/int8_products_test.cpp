#include "trainer/cpu/kernels/int8/int8_products.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "trainer/cpu/kernels/cpu_kernels.h"

namespace berth {
namespace {

using Floats = std::vector<float>;

Floats random_floats(int64_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  Floats x(static_cast<size_t>(count));
  for (float& value : x) value = normal(generator);
  return x;
}

Tensor matrix(Floats& x, int64_t rows, int64_t columns) {
  return {.data = reinterpret_cast<std::byte*>(x.data()), .rank = 2, .shape = {rows, columns}};
}

// The rows of x [.., depth] as the numbers that they become, times their scales.
Floats rounded(const Floats& x, int64_t depth, float largest_number = kLargestInt8) {
  Floats y;
  for (size_t first = 0; first < x.size(); first += static_cast<size_t>(depth)) {
    float largest = 0;
    for (int64_t d = 0; d < depth; ++d) {
      largest = std::max(largest, std::fabs(x[first + static_cast<size_t>(d)]));
    }
    const float scale = largest / largest_number;
    for (int64_t d = 0; d < depth; ++d) {
      const float value = x[first + static_cast<size_t>(d)];
      y.push_back(largest > 0 ? std::nearbyint(value * (largest_number / largest)) * scale : 0);
    }
  }
  return y;
}

Floats product_of(const Floats& x, const Floats& w, const Floats& bias, int64_t depth) {
  const int64_t rows = std::ssize(x) / depth, columns = std::ssize(w) / depth;
  Floats y;
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      double sum = bias[static_cast<size_t>(column)];
      for (int64_t d = 0; d < depth; ++d) {
        sum += static_cast<double>(x[static_cast<size_t>(row * depth + d)]) *
               static_cast<double>(w[static_cast<size_t>(column * depth + d)]);
      }
      y.push_back(static_cast<float>(sum));
    }
  }
  return y;
}

// Every kind of loops that this CPU has, on one thread and on three.
class Int8 : public testing::TestWithParam<std::tuple<const Int8Loops*, int>> {
 protected:
  Floats multiply(Floats& x, Floats& w, Floats& bias, int64_t depth) {
    const int64_t rows = std::ssize(x) / depth, columns = std::ssize(w) / depth;
    const Int8Matrix right = products_.pack(matrix(w, columns, depth));
    Floats y(static_cast<size_t>(rows * columns), std::numeric_limits<float>::quiet_NaN());
    products_.multiply(right, {.m = rows,
                               .n = columns,
                               .k = depth,
                               .a = {x.data(), depth},
                               .b = {},
                               .c = y.data(),
                               .c_stride = columns,
                               .bias = bias.data()});
    return y;
  }

  ThreadPool pool_{std::get<1>(GetParam())};
  Int8Products products_{pool_, *std::get<0>(GetParam())};
};

// The sums have no error, so only the rounding of the scales is left.
TEST_P(Int8, ProductsAreThoseOfTheRoundedFactors) {
  struct Sizes {
    int64_t rows, depth, columns;
  };
  for (const auto& [rows, depth, columns] :
       {Sizes{1, 1, 16}, Sizes{5, 30, 33}, Sizes{131, 70, 50}, Sizes{40, 384, 300}}) {
    Floats x = random_floats(rows * depth, 1), w = random_floats(columns * depth, 2);
    Floats bias = random_floats(columns, 3);
    const Floats y = multiply(x, w, bias, depth);
    const Floats numbers = rounded(w, depth, products_.loops().largest_column);
    const Floats expected = product_of(rounded(x, depth), numbers, bias, depth);
    for (size_t i = 0; i < y.size(); ++i) {
      ASSERT_NEAR(y[i], expected[i], 1e-5 * std::sqrt(static_cast<double>(depth)) + 1e-5) << i;
    }
  }
}

// A depth of 4,096 of the largest numbers: no sum may saturate.
TEST_P(Int8, SumsDoNotSaturate) {
  constexpr int64_t kDepth = 4096, kColumns = 16;
  Floats x(kDepth, 1), w(kDepth * kColumns, -1), bias(kColumns, 0);
  for (const float y : multiply(x, w, bias, kDepth)) EXPECT_NEAR(y, -4096, 1e-2);
}

TEST_P(Int8, AFactorOfZerosGivesTheBias) {
  Floats x(3 * 40, 0), w = random_floats(20 * 40, 1), bias(20, 2.5f);
  EXPECT_EQ(multiply(x, w, bias, 40), Floats(60, 2.5f));
  Floats y = random_floats(3 * 40, 2), none(20 * 40, 0);
  EXPECT_EQ(multiply(y, none, bias, 40), Floats(60, 2.5f));
}

// Such a number must not become an ordinary one, because a model that diverged would look healthy.
TEST_P(Int8, ANumberThatIsNotFiniteMakesItsRowNotFinite) {
  for (const float bad :
       {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
        std::numeric_limits<float>::quiet_NaN()}) {
    for (const size_t at : {0u, 45u, 49u}) {
      Floats x = random_floats(2 * 50, 1), w = random_floats(16 * 50, 2), bias(16, 0);
      x[50 + at] = bad;
      const Floats y = multiply(x, w, bias, 50);
      for (size_t column = 0; column < 16; ++column) {
        EXPECT_TRUE(std::isfinite(y[column]));
        EXPECT_FALSE(std::isfinite(y[16 + column])) << bad << " at " << at;
      }
    }
  }
  Floats x = random_floats(50, 1), w = random_floats(16 * 50, 2), bias(16, 0);
  w[3 * 50 + 7] = std::numeric_limits<float>::quiet_NaN();
  const Floats y = multiply(x, w, bias, 50);
  EXPECT_FALSE(std::isfinite(y[3]));
  EXPECT_TRUE(std::isfinite(y[2]));
}

TEST_P(Int8, TinyNumbersBecomeZeros) {
  Floats x(50, std::numeric_limits<float>::denorm_min()), w = random_floats(16 * 50, 2);
  Floats bias(16, 1);
  EXPECT_EQ(multiply(x, w, bias, 50), Floats(16, 1));
}

TEST_P(Int8, CallsBackForEachPartOfTheResultOnce) {
  constexpr int64_t kRows = 200, kColumns = 600, kDepth = 32;
  Floats x = random_floats(kRows * kDepth, 1), w = random_floats(kColumns * kDepth, 2);
  Floats y(kRows * kColumns);
  std::vector<int> calls(kRows * kColumns);
  const Int8Matrix right = products_.pack(matrix(w, kColumns, kDepth));
  products_.multiply(right,
                     {.m = kRows,
                      .n = kColumns,
                      .k = kDepth,
                      .a = {x.data(), kDepth},
                      .b = {},
                      .c = y.data(),
                      .c_stride = kColumns},
                     /*use=*/{}, [&](const Tile& tile) {
                       for (int64_t row = tile.row; row < tile.row + tile.rows; ++row) {
                         for (int64_t n = tile.column; n < tile.column + tile.columns; ++n) {
                           ++calls[static_cast<size_t>(row * kColumns + n)];
                         }
                       }
                     });
  EXPECT_EQ(calls, std::vector<int>(kRows * kColumns, 1));
}

std::string name_of(const testing::TestParamInfo<Int8::ParamType>& info) {
  return std::string(std::get<0>(info.param)->instruction_set) + "_" +
         std::to_string(std::get<1>(info.param)) + "_threads";
}

INSTANTIATE_TEST_SUITE_P(, Int8,
                         testing::Combine(testing::ValuesIn(supported_int8_loops()),
                                          testing::Values(1, 3)),
                         name_of);

TEST(Int8Loops, AreThoseThatAreNamed) {
  EXPECT_EQ(&pick_int8_loops("baseline"), &int8_portable::loops);
  EXPECT_EQ(&pick_int8_loops(""), supported_int8_loops().front());
  EXPECT_EQ(supported_int8_loops().back(), &int8_portable::loops);
}

// Loops that add 128 to a number and forget to take it off again, as those of a broken CPU might.
TEST(Int8Loops, ThatMultiplyWronglyAreFound) {
  Int8Loops wrong = int8_portable::loops;
  EXPECT_TRUE(multiplies(wrong));
  wrong.row_offset = 128;
  EXPECT_FALSE(multiplies(wrong));
}

TEST(Int8Kernels, MultiplyInInt8WhereTheyAreForInference) {
  ThreadPool pool(1);
  const std::unique_ptr<Kernels> kernels = make_cpu_kernels(pool, "", Precision::kInt8);
  Floats x = random_floats(9 * 64, 1), w = random_floats(32 * 64, 2), bias = random_floats(32, 3);
  Floats y(9 * 32);
  const auto weight = kernels->make_weight(matrix(w, 32, 64), WeightUse::kInference);
  ASSERT_NE(weight->in_int8(), nullptr);
  kernels->linear_forward(matrix(x, 9, 64), *weight, matrix(bias, 1, 32), matrix(y, 9, 32));
  const Floats numbers = rounded(w, 64, pick_int8_loops("").largest_column);
  const Floats expected = product_of(rounded(x, 64), numbers, bias, 64);
  for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], expected[i], 1e-4) << i;
  // Operands in bf16: the result is the one of the same numbers in fp32, rounded once.
  std::vector<uint16_t> cut_x, cut_y(9 * 32);
  for (float& value : x) {
    cut_x.push_back(static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16));
    value = std::bit_cast<float>(uint32_t{cut_x.back()} << 16);
  }
  const auto operand = [](std::vector<uint16_t>& cut, int64_t rows) {
    return Tensor{.data = reinterpret_cast<std::byte*>(cut.data()),
                  .dtype = DType::kBF16,
                  .rank = 2,
                  .shape = {rows, static_cast<int64_t>(cut.size()) / rows}};
  };
  const Tensor rounded_y = operand(cut_y, 9);
  kernels->linear_forward(matrix(x, 9, 64), *weight, matrix(bias, 1, 32), matrix(y, 9, 32));
  kernels->linear_forward(operand(cut_x, 9), *weight, matrix(bias, 1, 32), rounded_y);
  Floats wide_y(9 * 32), again(9 * 32);
  kernels->convert(rounded_y, matrix(wide_y, 9, 32));
  kernels->convert(matrix(y, 9, 32), rounded_y);
  kernels->convert(rounded_y, matrix(again, 9, 32));
  EXPECT_EQ(wide_y, again);
  Floats few = random_floats(4 * 64, 2);
  EXPECT_EQ(kernels->make_weight(matrix(few, 4, 64), WeightUse::kInference)->in_int8(), nullptr);
}

}  // namespace
}  // namespace berth
