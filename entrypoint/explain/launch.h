#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace berth {

// How a command starts a training script.
struct Launch {
  std::string script{};  // "run_glue.py", or the last part of a module's name; empty: only flags
  std::vector<std::string> flags{};
  std::string processes{};  // how many run at the same time, as typed: "8"; empty: one
  std::string machines{};   // likewise, on how many machines
  bool counts_all = false;  // whether `processes` are those of all machines, not of each
  bool uses_tpu = false;
};

// Finds the script behind python, torchrun, accelerate launch, deepspeed, `python -m
// torch.distributed.launch` or xla_spawn.py, whatever stands before these. Words that begin with
// flags are the flags of no script, and so are those behind `berth`. nullopt: no script is started.
std::optional<Launch> find_launch(std::span<const std::string> words);

}  // namespace berth
