#include <gtest/gtest.h>

#include "trainer/xla/xla_device.h"

namespace berth {
namespace {

TEST(PeakFlops, AreThoseOfTheKindOfDevice) {
  EXPECT_EQ(peak_flops("TPU v5 lite", DType::kBF16), 197e12);
  EXPECT_EQ(peak_flops("TPU v5", DType::kBF16), 459e12);
  EXPECT_EQ(peak_flops("NVIDIA H100 80GB HBM3", DType::kBF16), 989e12);
  EXPECT_EQ(peak_flops("NVIDIA H100 PCIe", DType::kBF16), 756e12);
  EXPECT_EQ(peak_flops("NVIDIA A100-SXM4-40GB", DType::kF32), 19.5e12);
  EXPECT_EQ(peak_flops("NVIDIA A10", DType::kBF16), 125e12);
  EXPECT_EQ(peak_flops("NVIDIA A10G", DType::kBF16), 70e12);
  EXPECT_EQ(peak_flops("Tesla V100-SXM2-16GB", DType::kF32), 15.7e12);
}

TEST(PeakFlops, AreUnknownWhereNoneIsPublished) {
  EXPECT_FALSE(peak_flops("cpu", DType::kF32));
  EXPECT_FALSE(peak_flops("TPU v5 lite", DType::kF32));
  EXPECT_FALSE(peak_flops("TPU v9", DType::kBF16));
  EXPECT_FALSE(peak_flops("TPU v4 lite", DType::kBF16));
  EXPECT_FALSE(peak_flops("NVIDIA L40S", DType::kBF16));
  EXPECT_FALSE(peak_flops("NVIDIA A100-SXM4-40GB MIG 1g.5gb", DType::kBF16));
}

}  // namespace
}  // namespace berth
