#pragma once

#include <functional>
#include <optional>
#include <string_view>

namespace berth {

// Where lines for people and log collectors go. Tests pass a string's append.
using Write = std::function<void(std::string_view)>;

// One write call where the system takes it whole, so that lines of several threads do not mix. A
// closed or full standard error is ignored: the job matters more than its narration.
void write_standard_error(std::string_view text);

bool standard_error_is_terminal();

// Columns of the terminal behind `descriptor` now; nullopt where there is none.
std::optional<int> terminal_columns(int descriptor);

}  // namespace berth
