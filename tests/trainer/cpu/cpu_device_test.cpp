#include "trainer/cpu/cpu_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/throws_code.h"

namespace berth {
namespace {

Precision precision_of(std::string_view instruction_set) {
  return make_cpu_device(1, instruction_set, Precision::kAuto)->info().precision;
}

TEST(CpuDevice, MeasuresItsPeakRateOnce) {
  const auto device = make_cpu_device(1, "", Precision::kFp32);
  const double peak = device->peak_flops();
  EXPECT_GT(peak, 0);
  EXPECT_EQ(device->peak_flops(), peak);
}

TEST(CpuDevice, AutoIsBf16WhereTheCpuMultipliesIt) {
  EXPECT_EQ(precision_of(""), multiplies_bf16() ? Precision::kBf16 : Precision::kFp32);
  EXPECT_EQ(precision_of("avx512"),
            multiplies_bf16("avx512") ? Precision::kBf16 : Precision::kFp32);
  EXPECT_EQ(multiplies_bf16("avx512"), multiplies_bf16());
}

// Each name may stand for a lower set than this CPU has, and is no error where the CPU has less.
TEST(CpuDevice, ComputesWithoutTheInstructionsAboveASet) {
  using testing::AnyOf;
  using testing::HasSubstr;
  const auto kernels = [](std::string_view set) {
    return make_cpu_device(1, set, Precision::kAuto)->info().description;
  };
  EXPECT_THAT(kernels("avx512"), testing::Not(HasSubstr("amx")));
  EXPECT_THAT(kernels("avx2"), AnyOf(HasSubstr("cpu-fp32-avx2,"), HasSubstr("cpu-fp32-baseline,")));
  EXPECT_THAT(kernels("baseline"), HasSubstr("cpu-fp32-baseline,"));
  EXPECT_FALSE(multiplies_bf16("avx2"));
  EXPECT_FALSE(multiplies_bf16("baseline"));
}

TEST(CpuDevice, RefusesBf16WithoutItsInstructionsAndUnknownSets) {
  const auto make = [](std::string_view set, Precision precision) {
    return [=] { make_cpu_device(1, set, precision); };
  };
  EXPECT_THAT(make("avx2", Precision::kBf16), ThrowsCode(Code::kUsage, "products of bf16"));
  EXPECT_THAT(make("mmx", Precision::kAuto), ThrowsCode(Code::kUsage, "\"mmx\""));
  EXPECT_THAT(make("mmx", Precision::kBf16), ThrowsCode(Code::kUsage, "\"mmx\""));
}

}  // namespace
}  // namespace berth
