#include "trainer/cpu/cpu_device.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/base/thread_pool.h"
#include "trainer/cpu/cpu_engine.h"
#include "trainer/cpu/kernels/cpu_kernels.h"
#include "trainer/cpu/kernels/instruction_set.h"
#include "trainer/cpu/kernels/memory_rate.h"
#include "trainer/cpu/kernels/peak_rate.h"

namespace berth {
namespace {

// Products in int8 are only for inference, and their rate is not reported.
double peak_of(ThreadPool& pool, Precision precision) {
  return precision == Precision::kInt8 ? 0 : peak_rate(pool, precision == Precision::kBf16);
}

class CpuDevice final : public Device {
 public:
  CpuDevice(int threads, std::string_view instruction_set, Precision precision)
      : pool_(threads),
        kernels_(make_cpu_kernels(pool_, instruction_set, precision)),
        info_{.description = kernels_->description(),
              .precision = kernels_->precision(),
              .threads = pool_.size()} {}

  const EngineInfo& info() const override { return info_; }

  double peak_flops() override {
    if (!peak_) peak_ = peak_of(pool_, info_.precision);
    return *peak_;
  }

  std::vector<MemoryLevel> memory_levels() override {
    if (!levels_) levels_ = measure_memory_levels(pool_);
    return *levels_;
  }

  void set_profiler(Profiler* profiler) override { pool_.set_profiler(profiler); }

  EngineMemory memory_of(const EngineOptions& options) override {
    return engine_memory(options, *kernels_);
  }

  std::unique_ptr<Engine> make_engine(const EngineOptions& options) override {
    return std::make_unique<CpuEngine>(info_, options, *kernels_);
  }

 private:
  ThreadPool pool_;
  const std::unique_ptr<Kernels> kernels_;
  const EngineInfo info_;
  std::optional<double> peak_;
  std::optional<std::vector<MemoryLevel>> levels_;
};

// The best instruction set of this CPU that is not above `highest`; empty: its very best.
std::string_view not_above(std::string_view highest) {
  constexpr std::array<std::string_view, 3> kBestFirst = {"avx512", "avx2", "baseline"};
  if (highest.empty()) return "";
  const auto place = [&](std::string_view name) {
    return std::ranges::find(kBestFirst, name) - kBestFirst.begin();
  };
  if (place(highest) == std::ssize(kBestFirst)) {
    throw Error(Code::kUsage, cat("there is no instruction set ", quoted(highest)), "",
                "choose among avx512, avx2 and baseline");
  }
  for (const CpuLoops* loops : supported_loops()) {
    if (place(loops->instruction_set) >= place(highest)) return loops->instruction_set;
  }
  return "baseline";
}

}  // namespace

bool multiplies_bf16(std::string_view instruction_set) {
  return pick_native_bf16_loops(instruction_set) != nullptr;
}

std::unique_ptr<Device> make_cpu_device(int threads, std::string_view instruction_set,
                                        Precision precision) {
  const std::string_view set = not_above(instruction_set);
  if (precision == Precision::kBf16 && !multiplies_bf16(instruction_set)) refuse_bf16();
  return std::make_unique<CpuDevice>(threads, set, precision);
}

}  // namespace berth
