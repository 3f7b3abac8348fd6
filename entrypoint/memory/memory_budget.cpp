#include "entrypoint/memory/memory_budget.h"

#include <algorithm>

#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
namespace {

std::string advice(const BatchShape& shape, int64_t fitting, const MemoryLimit& limit) {
  if (fitting == 0 && shape.alone_bytes <= limit.size_bytes) {
    return "--batch-size 1 with --eval-batch-size 1 would fit";
  }
  if (fitting == 0) {
    return cat("not even one example at a time fits: use ", shape.recomputes ? "" : "--recompute, ",
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

}  // namespace

int64_t largest_fitting_batch(int64_t most, const MemoryLimit& limit,
                              const std::function<MemoryEstimate(int64_t)>& memory_of) {
  int64_t fits = 0, beyond = most + 1;
  while (beyond - fits > 1) {
    const int64_t middle = fits + (beyond - fits) / 2;
    (memory_of(middle).total() <= limit.size_bytes ? fits : beyond) = middle;
  }
  return fits;
}

void require_memory(const BatchShape& shape, const MemoryEstimate& memory,
                    const std::optional<MemoryLimit>& limit,
                    const std::function<MemoryEstimate(int64_t)>& memory_of) {
  if (!limit || memory.total() <= limit->size_bytes) return;
  const int64_t at_once = shape.at_once();
  const int64_t fitting = largest_fitting_batch(at_once, *limit, memory_of);
  throw Error(Code::kMemory,
              cat("the job needs up to ", human_bytes(memory.total()), " of memory, ",
                  human_bytes(memory.engine.activations), " of it for ", at_once,
                  shape.tokens_an_example > 0 ? " tokens" : " examples", " at once, and ",
                  limit->what, " is ", human_bytes(limit->size_bytes)),
              "", advice(shape, fitting, *limit));
}

}  // namespace berth
