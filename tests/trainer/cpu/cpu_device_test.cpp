#include "trainer/cpu/cpu_device.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

TEST(CpuDevice, MeasuresItsPeakRateOnce) {
  const auto device = make_cpu_device(1, "", Precision::kFp32);
  const double peak = device->peak_flops();
  EXPECT_GT(peak, 0);
  EXPECT_EQ(device->peak_flops(), peak);
}

}  // namespace
}  // namespace berth
