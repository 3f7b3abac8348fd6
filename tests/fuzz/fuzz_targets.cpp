// The entry points that libFuzzer and mutating_main.cpp call.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "tests/fuzz/fuzz_target.h"

namespace berth {
namespace {

constexpr const char* kVariable = "BERTH_FUZZ_TARGET";

std::map<std::string, FuzzTarget>& table() {
  static std::map<std::string, FuzzTarget> targets;
  return targets;
}

FuzzTarget chosen = nullptr;

FuzzTarget find_target(const char* name) {
  const auto found = table().find(name);
  if (found != table().end()) return found->second;
  std::fprintf(stderr, "fuzz_targets TARGET ...: '%s' is not a target. The targets are:\n", name);
  for (const auto& [known, target] : table()) std::fprintf(stderr, "  %s\n", known.c_str());
  std::exit(2);
}

}  // namespace

FuzzTargets::FuzzTargets(std::initializer_list<std::pair<const char*, FuzzTarget>> targets) {
  for (const auto& [name, target] : targets) require(table().emplace(name, target).second);
}

}  // namespace berth

// Takes the name of the target from the arguments. libFuzzer starts itself again with the other
// arguments for -fork, -jobs and -merge. These processes find the name in the environment.
extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments) {
  const char* name = std::getenv(berth::kVariable);
  if (name == nullptr) {
    name = *count > 1 ? (*arguments)[1] : "";
    setenv(berth::kVariable, name, 1);
    if (*count > 1) {
      (*arguments)[1] = (*arguments)[0];
      ++*arguments;
      --*count;
    }
  }
  berth::chosen = berth::find_target(name);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  berth::chosen(std::as_bytes(std::span(data, size)));
  return 0;
}
