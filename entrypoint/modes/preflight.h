#pragma once

#include "storage/storage.h"
#include "trainer/loop/options.h"

namespace berth {

// Finds out, before anything is fetched or computed, whether the job can be done at all: each input
// that `settings` (with the model resolved) names is there, each place that it writes to takes a
// small object (which is removed again). Remote places are asked at the same time. Throws the first
// complaint in the order of --help, its `where` beginning with the flag.
void preflight(Storage& storage, const Settings& settings);

}  // namespace berth
