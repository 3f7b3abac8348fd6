#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

// One command of a shell's text.
struct ShellCommand {
  std::vector<std::string> environment{};  // "CUDA_VISIBLE_DEVICES=0", in front of the program
  std::vector<std::string> words{};
  std::string redirections{};  // "> log.txt", as it was typed
  // CUDA_VISIBLE_DEVICES as an earlier command of the text set it: "0,1"; nullopt: none did.
  std::optional<std::string> visible_devices{};
};

// Cuts text as someone pastes it from a page or a script into commands, as a POSIX shell would:
// quotes, backslashes, line continuations, comments, and the ends of commands. Nothing is run.
// Variables that the text itself sets, with or without `export`, are replaced; others stay, as
// "$NAME". Commands that only set variables are left out. Throws kUsage on a quote without end.
std::vector<ShellCommand> shell_commands(std::string_view text);

// Moves words such as NAME=value that stand before the program to `environment`.
void split_environment(ShellCommand& command);

}  // namespace berth
