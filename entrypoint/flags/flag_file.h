#pragma once

#include <span>
#include <string>
#include <vector>

namespace berth {

// Replaces each `--flagfile FILE` by the flags in the local file FILE, as Abseil does. So each task
// of an Indexed Job can have flags of its own. `home` is the user's home directory.
//
// A line is one flag: `--name=value`, `--name value` or `--name`. The value reaches to the end of
// the line and is not unquoted. Empty lines and lines that begin with # or // are passed over. A
// file cannot name another one.
//
// `notes` receives one sentence for each file, with its flags. Throws kUsage on a line that is not
// a flag, on a missing name, and on a path that parse_path() refuses. Throws kNotFound if there is
// no such file.
std::vector<std::string> expand_flag_files(std::span<const char* const> arguments,
                                           const std::string& home,
                                           std::vector<std::string>& notes);

}  // namespace berth
