#pragma once

#include <span>
#include <string>
#include <string_view>

#include "entrypoint/flags/foreign/typed_command.h"

namespace berth {

// A default that differs from berth's.
struct ScriptDefault {
  std::string_view flag, value;  // of berth's, by its canonical name; a switch has no value
  bool trains;                   // it matters in training only
};

// What a script does besides what its flags say.
struct TrainingScript {
  std::string_view name;  // "run_glue.py"
  std::span<const ScriptDefault> defaults;
  std::string_view refused{};     // what helps, where berth does not do the script's task
  std::string_view doc_stride{};  // where --doc_stride means something else: what
  std::string_view note{};        // another difference, in training
};

// The script of this name. Scripts of google-research/bert, Model Garden and early transformers
// share names, and are told apart by the flags. nullptr: it is unknown.
const TrainingScript* find_script(std::string_view name, const TypedCommand& command);

}  // namespace berth
