#pragma once

#include <optional>
#include <string>

#include "trainer/inputs/mode.h"

namespace berth {

// The first steps, in some fifteen lines: for `berth` without any argument.
std::string usage_text();

// The text of --help, wrapped at `width` columns (but at no fewer than 60). With `mode`: what the
// mode does, an example, and its flags.
std::string help_text(int width, std::optional<Mode> mode = {});

// The flags as Markdown tables, one for each group. docs/flags.md shows them between its flags
// markers.
std::string help_markdown();

// The visible flags for other programs, as one JSON object on a line:
//   {"flags": [{"name", "aliases", "group", "value", "switch", "default", "help"}, ...],
//    "translated": {NAME: FLAG, ...}}
// Names are kebab-case. "value" is the placeholder in the help. "translated" has the flags of other
// programs that foreign/translation.h knows, and the flag with the same meaning and values, or "".
std::string help_json();

// "berth 0.1.0 (...)".
std::string version_text();

}  // namespace berth
