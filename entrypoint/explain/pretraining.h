#pragma once

#include <span>
#include <string>
#include <string_view>

#include "entrypoint/explain/launch.h"
#include "entrypoint/flags/foreign/translation.h"

namespace berth {

// A list of files where berth takes a pattern.
inline constexpr std::string_view kSeveralFiles =
    "names several files; name them by a pattern with --train-data-file or --eval-data-file, such "
    "as 'records/*.tfrecord'";

// Several projects have a script of this name. What helps for a script that trains something else
// than --task mlm_nsp, or reads other files; empty: it does neither.
std::string_view refused_pretraining(std::string_view script, std::span<const std::string> flags);

// Replaces flags of run_pretraining.py and create_pretraining_data.py by berth's, where they need
// more than another name. Leaves other scripts as they are.
void read_pretraining(Launch& launch);

}  // namespace berth
