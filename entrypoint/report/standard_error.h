#pragma once

#include <functional>
#include <optional>
#include <string_view>

namespace berth {

// Writes text for people and log collectors. Tests pass a function that appends to a string.
using Write = std::function<void(std::string_view)>;

// Writes `text` in one call wherever the system allows it, so that lines of several threads do not
// mix. A closed or full standard error is ignored: it must not end the job.
void write_standard_error(std::string_view text);

// Waits until standard error takes at least one line, at most for the given time. Returns whether
// it does.
bool standard_error_takes_text(double timeout_s);

bool standard_error_is_terminal();

// The current number of columns of the terminal behind `descriptor`; nullopt: it is no terminal.
std::optional<int> terminal_columns(int descriptor);

}  // namespace berth
