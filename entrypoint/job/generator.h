#pragma once

#include <memory>

#include "entrypoint/job/job.h"
#include "trainer/loop/model_folder.h"
#include "trainer/loop/options.h"
#include "trainer/model/config.h"
#include "trainer/model/parameter_tensors.h"

// The generator of pre-training by replaced-token detection (--task electra).
namespace berth {

// Gives `config`, whose task is chosen, the sizes of its generator, if the task has one: the sizes
// of the model in --generator, or else the flag's fraction of the discriminator's sizes. Returns
// the folder that --generator names, or null. Throws kUsage if the task cannot have such a model,
// device or setting, or if --generator is given for another task.
std::unique_ptr<ModelFolder> settle_generator(const Job& job, const Settings& settings,
                                              ModelConfig& config);

// The same for a finished model, whose generator is in the folder "generator" of the model unless
// --generator names another one.
std::unique_ptr<ModelFolder> finished_generator(const Job& job, const Settings& settings,
                                                ModelConfig& config);

// Fills the generator's own parameters from the folder on at most `threads` threads. Throws
// kNotFound if the folder has no parameters, and kBadData if they do not fit.
void fill_generator(ModelFolder& folder, const ModelConfig& config, int threads,
                    ParameterTensors& values);

}  // namespace berth
