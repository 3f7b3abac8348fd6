#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "entrypoint/flags/foreign/typed_command.h"

namespace berth {

// A remark for the user about one flag that is not berth's.
struct Remark {
  std::string flag;  // as it was typed
  std::string text;  // "has no effect: ..."; of a refused flag what helps
  bool refused;
};

// A command line in berth's own flags.
struct Translation {
  TypedCommand command{};
  std::vector<Remark> remarks{};
  bool predicts_afterwards = false;  // another run, in --mode predict, was asked for as well

  void add(const std::string& argument) { command.add(argument); }
  void ignore(const TypedArgument& argument, std::string_view why);
  void note(const TypedArgument& argument, std::string text);
  void refuse(const TypedArgument& argument, std::string_view advice);
};

// Replaces the flags of other programs. berth's own flags, arguments that are not flags, and
// unknown flags do not change. One exception: values that other programs give to flags of the same
// name, such as `--max_steps -1`. Throws nothing: a flag that cannot be translated is left out,
// with a remark.
Translation translate(const TypedCommand& command);

}  // namespace berth
