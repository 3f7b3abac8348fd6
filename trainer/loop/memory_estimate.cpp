#include "trainer/loop/memory_estimate.h"

#include <algorithm>
#include <vector>

#include "trainer/weights/write_tensors.h"

namespace berth {
namespace {

size_t fp32_bytes(int64_t elements) { return static_cast<size_t>(elements) * sizeof(float); }

int64_t largest_elements(std::span<const ParameterSpec> specs) {
  int64_t largest = 0;
  for (const ParameterSpec& spec : specs) largest = std::max(largest, spec.elements());
  return largest;
}

// The memory of export_model(), which export_onnx() does not exceed, or of export_tensorflow(),
// which needs a copy of the values and a transposed copy. Adapters are merged into another copy
// before that.
size_t export_bytes(const EngineOptions& options, const SavingPlan& saving) {
  const std::vector<ParameterSpec> specs = parameter_table(options.config);
  const size_t whole = fp32_bytes(total_elements(specs));
  const size_t copies = write_tensors_bytes(largest_elements(specs), saving.export_dtype);
  return std::max(copies, saving.exports_tensorflow ? 2 * whole : 0) + (options.lora ? whole : 0);
}

}  // namespace

MemoryEstimate estimate_memory(const EngineOptions& options, const SavingPlan& saving,
                               Device& device) {
  MemoryEstimate memory = estimate_memory(options, device);
  const std::vector<ParameterSpec> specs =
      parameter_table(options.config, options.lora, options.optimizer.first_depth);
  const bool copies = saving.saves == Saving::kBesideTraining;
  memory.most_copied = copies ? usual_copy_bytes(specs, device.info()) : 0;
  const size_t snapshot = memory.most_copied + writer_bytes(specs, device.info());
  memory.saving = std::max({memory.saving, snapshot, export_bytes(options, saving)});
  if (saving.probes) {
    const SavingPlan plain{.export_dtype = DType::kF32};
    memory.saving = std::max(memory.saving, snapshot + export_bytes(options, plain));
  }
  // The moments are the largest file that a resume reads, before anything is saved.
  const size_t moments = 2 * fp32_bytes(trained_elements(specs));
  memory.saving = std::max(memory.saving + saving.upload, std::min(saving.download, moments));
  memory.saves = saving.saves;
  return memory;
}

MemoryEstimate estimate_memory(const EngineOptions& options, Device& device) {
  const EngineMemory engine = device.memory_of(options);
  return {.engine = engine, .saving = engine.loading};
}

}  // namespace berth
