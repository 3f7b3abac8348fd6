#pragma once

#include <span>
#include <string>
#include <string_view>

#include "entrypoint/flags/foreign/translation.h"

namespace berth {

// A default that differs from berth's.
struct ScriptDefault {
  std::string_view flag, value;  // of berth's, by its canonical name; a switch has no value
  bool trains;                   // it matters in training only
};

// The devices on which a script trains if no launcher names them.
enum class ScriptDevices {
  kOne,      // on one device
  kAllGpus,  // on all GPUs that it sees, as Trainer does by DataParallel, else on the CPU
  kAll,      // on all devices of the machine, as JAX does
};

// The unit of a script's batch flag: the examples of a device, a process or all.
enum class BatchOf {
  kDevice,   // one device's, in one micro-batch
  kProcess,  // one launched process's, in one update
  kUpdate,   // one update's
};

// From which rows a script sets some aside, to evaluate on them, where none are named for that. It
// does so even if it never evaluates.
enum class SetsAside { kNone, kDataSets, kAll };  // of data sets of the hub; and of files, too

// The behaviour of a script that its flags do not name.
struct TrainingScript {
  std::string_view name;  // "run_glue.py"
  std::span<const ScriptDefault> defaults;
  ScriptDevices devices = ScriptDevices::kOne;
  std::string_view doc_stride{};  // where --doc_stride means something else: what
  std::string_view note{};        // another difference, in training
  std::string_view dev_file{};  // the flag, as its program writes it, of rows that it evaluates on
  BatchOf batch = BatchOf::kDevice;
  std::string_view threads{};  // where --threads means something else: what
  SetsAside sets_aside = SetsAside::kNone;
  bool falls_at_once = false;  // its learning rate falls from the first update on
};

// The examples of a device in one micro-batch, where no flag says so.
int64_t micro_batch_of(const TrainingScript& script);

// The script of this name. Scripts of google-research/bert, its first version for PyTorch, Model
// Garden and early transformers share names, and the flags tell them apart. The `path` tells
// scripts for Flax. nullptr: it is unknown.
const TrainingScript* find_script(std::string_view name, std::string_view path,
                                  const TypedCommand& command);

// Whether one of the scripts above has this name.
bool is_known_script(std::string_view name);

// Scripts of other projects whose task berth does not have, and those for TensorFlow, which the
// `path` shows: what helps; empty: it is none of them.
std::string_view refused_script(std::string_view name, std::string_view path = {});

}  // namespace berth
