#pragma once

#include "entrypoint/explain/script_defaults.h"
#include "entrypoint/flags/foreign/translation.h"

namespace berth {

// Refuses flags that berth knows from other scripts and that this one does not have in any version:
// it ends there with an error.
void check_script_flags(const TrainingScript& script, std::string_view path,
                        const TypedCommand& typed, Remarks& remarks);

}  // namespace berth
