#include "entrypoint/job/job.h"

#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/thread_pool.h"
#include "trainer/cpu/cpu_device.h"

namespace berth {

void Job::stop_point() const {
  if (stop) {
    throw Error(Code::kStopped, "a signal stopped the job before the first update", "",
                "start it again with the same command");
  }
}

int compute_threads(const Settings& settings) {
  return settings.threads > 0 ? static_cast<int>(settings.threads) : available_threads();
}

std::unique_ptr<Device> make_device(const CommandLine& command_line) {
  const Settings& settings = command_line.settings;
  std::unique_ptr<Device> device = make_cpu_device(
      compute_threads(settings), command_line.forced_instruction_set, settings.precision);
  if (settings.precision == Precision::kAuto) {
    log_info(device->info().product_dtype == DType::kBF16
                 ? "precision: matrix products use bf16, because this CPU multiplies it"
                 : "precision: matrix products use fp32, because this CPU does not multiply bf16");
  }
  return device;
}

}  // namespace berth
