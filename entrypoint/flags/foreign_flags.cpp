#include "entrypoint/flags/flag_table.h"

namespace berth {

std::span<const ForeignFlag> foreign_flags() {
  static const std::vector<ForeignFlag> table = {
      {"hub-module-url", "use --model"},
      {"per-device-train-batch-size",
       "use --batch-size, which counts the examples of a whole update"},
      {"per-device-eval-batch-size", "use --eval-batch-size"},
      {"validation-split-percentage", "use --validation-split, which is a fraction from 0 to 1"},
      {"do-train", "use --mode"},
      {"do-eval", "use --mode"},
      {"do-predict", "use --mode"},
      {"bf16", "use --precision"},
      {"fp16", "use --precision"},
      {"overwrite-output-dir", "berth never deletes a job directory; give a new --job-dir"},
  };
  return table;
}

}  // namespace berth
