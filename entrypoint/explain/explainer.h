#pragma once

#include "entrypoint/explain/explain.h"
#include "entrypoint/explain/launch.h"
#include "entrypoint/explain/shell_text.h"

namespace berth {

// Explains one command. `expands` says whether a shell has yet to replace variables in its words.
Explanation explain_launch(const ShellCommand& command, const Launch& launch, bool expands,
                           const ExplainOptions& options);

}  // namespace berth
