#include "storage/formats/converted_tensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <span>

#include "tests/support/throws_code.h"

namespace berth {
namespace {

using testing::ElementsAre;

class ConvertedTensorsTest : public testing::Test {
 protected:
  NamedTensor floats(std::string name) const {
    return {.name = std::move(name), .shape = {3}, .data = std::as_bytes(std::span(numbers_))};
  }

  const float numbers_[3] = {1.0f, -2.5f, 1e-3f};
  const int64_t ids_[1] = {7};
  const double doubles_[2] = {0.5, -3};
};

TEST_F(ConvertedTensorsTest, NarrowsFloatsAndLeavesIds) {
  const std::vector<NamedTensor> tensors = {
      floats("w"),
      {.name = "ids", .dtype = DType::kI64, .shape = {1}, .data = std::as_bytes(std::span(ids_))},
      {.name = "d",
       .dtype = DType::kF64,
       .shape = {2},
       .data = std::as_bytes(std::span(doubles_))}};
  const ConvertedTensors converted(tensors, DType::kBF16);
  const auto all = converted.tensors();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].dtype, DType::kBF16);
  EXPECT_EQ(all[0].shape, tensors[0].shape);
  EXPECT_THAT(floats_of(all[0]), ElementsAre(1.0f, -2.5f, 0x1.06p-10f));
  EXPECT_EQ(all[1].dtype, DType::kI64);
  EXPECT_EQ(all[1].data.data(), tensors[1].data.data());
  EXPECT_THAT(floats_of(all[2]), ElementsAre(0.5f, -3.0f));
}

TEST_F(ConvertedTensorsTest, WidensAgainExactly) {
  const NamedTensor narrow = floats("w");
  const ConvertedTensors halves(std::span(&narrow, 1), DType::kF16);
  const ConvertedTensors wide(halves.tensors(), DType::kF32);
  EXPECT_EQ(wide.tensors()[0].dtype, DType::kF32);
  EXPECT_EQ(floats_of(wide.tensors()[0]), floats_of(halves.tensors()[0]));
}

TEST_F(ConvertedTensorsTest, UnchangedTensorsAreBorrowed) {
  const NamedTensor tensor = floats("w");
  const ConvertedTensors same(std::span(&tensor, 1), DType::kF32);
  EXPECT_EQ(same.tensors()[0].data.data(), tensor.data.data());
}

TEST_F(ConvertedTensorsTest, RefusesWhatWouldBecomeInfinite) {
  const auto narrow = [](float value, DType dtype) {
    const NamedTensor tensor{
        .name = "w", .shape = {1}, .data = std::as_bytes(std::span(&value, 1))};
    return floats_of(ConvertedTensors(std::span(&tensor, 1), dtype).tensors()[0])[0];
  };
  EXPECT_EQ(narrow(65504, DType::kF16), 65504);
  EXPECT_EQ(narrow(-65519.996f, DType::kF16), -65504);
  EXPECT_THAT([&] { narrow(65520, DType::kF16); }, ThrowsCode(Code::kBadData, "w: holds 65520"));
  EXPECT_THAT([&] { narrow(-1e38f, DType::kF16); }, ThrowsCode(Code::kBadData, "F16"));
  EXPECT_EQ(narrow(3.38e38f, DType::kBF16), 0x1.FCp127f);
  EXPECT_THAT([&] { narrow(FLT_MAX, DType::kBF16); }, ThrowsCode(Code::kBadData, "BF16"));
  EXPECT_EQ(narrow(INFINITY, DType::kF16), INFINITY);
  const double large = 1e39;
  const NamedTensor wide{
      .name = "d", .dtype = DType::kF64, .shape = {1}, .data = std::as_bytes(std::span(&large, 1))};
  EXPECT_THAT([&] { ConvertedTensors(std::span(&wide, 1), DType::kF32); },
              ThrowsCode(Code::kBadData, "d: holds 1e+39"));
}

}  // namespace
}  // namespace berth
