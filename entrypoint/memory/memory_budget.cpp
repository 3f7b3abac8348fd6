#include "entrypoint/memory/memory_budget.h"

#include <algorithm>

#include "storage/base/counted.h"
#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
namespace {

std::string advice(const BatchSizes& shape, int64_t fitting) {
  if (fitting == 0 && shape.fits_alone) {
    return "--batch-size 1 with --eval-batch-size 1 would fit";
  }
  if (fitting == 0) {
    return cat("not even one example at a time fits: use ", shape.smaller_outputs,
               shape.smaller_outputs.empty() ? "" : ", ", shape.recomputes ? "" : "--recompute, ",
               "a smaller model, a shorter --max-seq-length or more memory");
  }
  const bool in_tokens = shape.tokens_an_example > 0;
  const int64_t examples =
      in_tokens ? std::max<int64_t>(1, fitting / shape.tokens_an_example) : fitting;
  const std::string evaluation = cat("--eval-batch-size ", examples);
  if (shape.micro_batch() <= fitting) return evaluation + " would fit";
  const std::string also = shape.evaluated > fitting ? " with " + evaluation : "";
  if (in_tokens) return cat("--token-budget ", fitting, also, " would fit");
  const std::string parts =
      cat("--gradient-accumulation-steps ", (shape.batch_size + fitting - 1) / fitting);
  if (shape.micro_batches > 1) return cat(parts, also, " would fit");
  return cat("--batch-size ", fitting, also, " would fit; so would the same updates with ", parts);
}

std::string excess_text(const BatchSizes& shape, const MemoryEstimate& memory,
                        const MemoryLimits& limits) {
  const bool on_device = !limits.device_allows(memory);
  const MemoryLimit& limit = on_device ? *limits.device : *limits.host;
  std::string text =
      cat("the job needs up to ", human_bytes(on_device ? memory.on_device() : memory.on_host()),
          on_device ? " of the device's memory" : " of memory");
  if (on_device || !memory.engine.has_own_memory) {
    text += cat(", ", human_bytes(memory.engine.activations), " of it for ",
                counted(shape.at_once(), shape.tokens_an_example > 0 ? "token" : "example"),
                " at once,");
  }
  if (!on_device && memory.teacher > 0) {
    text += cat(text.ends_with(',') ? " " : ", ", human_bytes(memory.teacher),
                " of it for the teacher's outputs,");
  }
  return cat(text, " and ", limit.what, " is ", human_bytes(limit.size_bytes));
}

}  // namespace

MemoryLimits memory_limits(const Device& device) {
  MemoryLimits limits{.host = memory_limit()};
  const std::optional<DeviceMemory> memory = device.memory();
  if (memory && memory->limit) limits.device = MemoryLimit{*memory->limit, "the device's limit"};
  return limits;
}

int64_t largest_fitting_batch(int64_t most, const MemoryLimits& limits,
                              const std::function<MemoryEstimate(int64_t)>& memory_of) {
  int64_t fits = 0, beyond = most + 1;
  while (beyond - fits > 1) {
    const int64_t middle = fits + (beyond - fits) / 2;
    (limits.allow(memory_of(middle)) ? fits : beyond) = middle;
  }
  return fits;
}

void require_memory(const BatchSizes& shape, const MemoryEstimate& memory,
                    const MemoryLimits& limits,
                    const std::function<MemoryEstimate(int64_t)>& memory_of) {
  if (limits.allow(memory)) return;
  const int64_t fitting = largest_fitting_batch(shape.at_once(), limits, memory_of);
  throw Error(Code::kMemory, excess_text(shape, memory, limits), "", advice(shape, fitting));
}

}  // namespace berth
