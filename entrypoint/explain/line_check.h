#pragma once

#include <vector>

#include "entrypoint/explain/own_command.h"
#include "entrypoint/flags/foreign/translation.h"

namespace berth {

// Parses the line as berth would, and adds to `remarks` what it refuses. A flag whose value it
// refuses is removed. Where the line `expands`, values that a shell has yet to fill in are not
// checked. A file of flags is not read.
void check_line(OwnCommand& own, bool expands, std::vector<Remark>& remarks);

}  // namespace berth
