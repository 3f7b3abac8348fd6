#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trainer/xla/network/programs.h"
#include "trainer/xla/pjrt/executable.h"
#include "trainer/xla/pjrt/executable_cache.h"
#include "trainer/xla/xla_tensors.h"

namespace berth {

// The programs of one engine, each compiled when it is first needed. Compiling takes from seconds
// to minutes and is logged. Not thread-safe. Borrows the replicas and the cache.
class XlaPrograms {
 public:
  enum class Kind { kTraining, kAccumulation, kApplication, kInference };

  struct Compiled {
    PjrtExecutable executable;
    std::vector<std::string> batch_inputs;  // in the order of the program's last inputs
    int64_t tokens = 0;                     // of its batch, padding included
  };

  XlaPrograms(const XlaReplicas& replicas, const ExecutableCache& cache, ProgramOptions options)
      : replicas_(replicas), cache_(cache), options_(std::move(options)) {}

  // An application has no batch: its shape is BatchShape(). Throws what compiling throws.
  const Compiled& get(Kind kind, const BatchShape& shape);
  // What a compiled program takes of a device's memory for its batch, as the compiler planned it.
  struct BatchMemory {
    int64_t size_bytes = 0;
    int64_t tokens = 0;
  };
  // The largest BatchMemory of the compiled programs. nullopt if none is compiled, or if the plugin
  // does not report it.
  std::optional<BatchMemory> largest() const;
  // How long get() has compiled so far, or loaded compiled programs from the cache.
  double compile_seconds() const { return compile_seconds_; }

 private:
  Compiled compile(Kind kind, const BatchShape& shape);

  const XlaReplicas& replicas_;
  const ExecutableCache& cache_;
  const ProgramOptions options_;
  std::map<std::pair<Kind, int64_t>, Compiled> compiled_;  // by the number of rows
  double compile_seconds_ = 0;
};

}  // namespace berth
