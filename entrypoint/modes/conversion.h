#pragma once

#include "entrypoint/job/job.h"
#include "trainer/loop/options.h"

namespace berth {

// --mode convert: writes the parameters of --model to --export-dir in another format or type, and
// holds that directory meanwhile. Throws what run() promises.
void run_conversion(Job& job);

// The same for the model that `settings.model` names.
void convert_model(Job& job, const Settings& settings);

}  // namespace berth
