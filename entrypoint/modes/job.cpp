#include "entrypoint/modes/job.h"

#include "storage/base/error.h"
#include "storage/base/log.h"
#include "trainer/cpu/kernels/cpu_kernels.h"

namespace berth {

void Job::stop_point() const {
  if (stop) {
    throw Error(Code::kStopped, "stopped by a signal before the first step", "",
                "start it again with the same command");
  }
}

Machine::Machine(const CommandLine& command_line)
    : pool(command_line.settings.threads > 0 ? static_cast<int>(command_line.settings.threads)
                                             : available_threads()),
      kernels(make_cpu_kernels(pool, command_line.forced_instruction_set,
                               command_line.settings.precision)) {
  if (command_line.settings.precision != Precision::kAuto) return;
  log_info(kernels->product_dtype() == DType::kBF16
               ? "precision: bf16 in matrix products, for which this CPU has instructions"
               : "precision: fp32, since this CPU has no instructions for products of bf16");
}

}  // namespace berth
