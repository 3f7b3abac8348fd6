#pragma once

#include "entrypoint/flags/command_line.h"
#include "trainer/loop/load_model.h"
#include "trainer/loop/model_folder.h"

namespace berth {

// Whether a flag or the data gave the length of texts in `settings`, which are resolved.
bool asks_for_length(const CommandLine& command_line, const Settings& settings);

// describe_model(). If no flag gives a length, it also sets the length in `settings`. This is the
// smallest of the default, the model's positions and the tokenizer's model_max_length. The log says
// so. With `is_of_job`, an earlier job has set the length, and model_max_length does not count.
// Throws what describe_model() throws, and kUsage if model_max_length is not a valid length.
ModelDescription describe_fitting_model(ModelFolder& folder, const CommandLine& command_line,
                                        Settings& settings, bool is_of_job = false);

// Sets the length in `settings` to the max_seq_length in `files`, and logs it. Does nothing if the
// model is not of sentence-transformers. Call it only if no flag or data give a length.
void use_length_of(const SentenceFiles& files, Settings& settings, ModelDescription& model);

}  // namespace berth
