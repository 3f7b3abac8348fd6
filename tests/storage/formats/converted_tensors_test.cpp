#include "storage/formats/converted_tensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <span>

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

}  // namespace
}  // namespace berth
