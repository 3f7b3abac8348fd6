#pragma once

#include <string>

namespace berth {

// What to try first, in some fifteen lines: for `berth` without any argument.
std::string usage_text();

// The text of --help, wrapped at `width` columns (but at no fewer than 60).
std::string help_text(int width);

// The flags as Markdown tables, one for each group. docs/flags.md shows them between its flags
// markers.
std::string help_markdown();

// "berth 0.1.0 (...)".
std::string version_text();

}  // namespace berth
