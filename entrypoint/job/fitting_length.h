#pragma once

#include "entrypoint/flags/command_line.h"
#include "trainer/loop/load_model.h"
#include "trainer/loop/model_folder.h"

namespace berth {

// describe_model(). Where neither a flag nor the data ask for a length, and the model has fewer
// positions than the default, sets the length in `settings` to the positions, and says so. Throws
// what describe_model() throws.
ModelDescription describe_fitting_model(ModelFolder& folder, const CommandLine& command_line,
                                        Settings& settings);

}  // namespace berth
