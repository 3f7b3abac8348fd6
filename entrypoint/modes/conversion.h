#pragma once

#include "entrypoint/job/job.h"
#include "storage/storage.h"
#include "trainer/loop/options.h"

namespace berth {

// --mode convert: writes the parameters of --model to --export-dir in another format or type.
// Throws what run() promises.
void run_conversion(Job& job);

// The same for the model that `settings.model` names.
void convert_model(Storage& storage, const Settings& settings);

}  // namespace berth
