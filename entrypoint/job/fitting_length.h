#pragma once

#include "entrypoint/flags/command_line.h"
#include "trainer/loop/load_model.h"
#include "trainer/loop/model_folder.h"

namespace berth {

// Whether a flag or the data ask for the length of texts in `settings`, which are resolved.
bool asks_for_length(const CommandLine& command_line, const Settings& settings);

// describe_model(). Where nobody asks for a length, and the model has fewer positions than the
// default, or its tokenizer a smaller model_max_length, sets the length in `settings` to that, and
// says so. `is_of_job`: the length is that of an earlier job, so model_max_length does not count.
// Throws what describe_model() throws, and kUsage where model_max_length is no length.
ModelDescription describe_fitting_model(ModelFolder& folder, const CommandLine& command_line,
                                        Settings& settings, bool is_of_job = false);

// Sets the length in `settings` to that of the model's folder of sentence-transformers, and says
// so. Does nothing where `files` are none. Call it where nobody asks for a length.
void use_length_of(const SentenceFiles& files, Settings& settings, ModelDescription& model);

}  // namespace berth
