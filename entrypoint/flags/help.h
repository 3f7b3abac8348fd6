#pragma once

#include <string>

namespace berth {

// --help, in lines of at most `width` columns (at least 60 are used).
std::string help_text(int width);

// The flags as Markdown tables, one a group: what README shows between its flags markers.
std::string help_markdown();

// "berth 0.1.0 (...)".
std::string version_text();

}  // namespace berth
