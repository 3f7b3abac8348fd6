#pragma once

#include <cstdint>

#include "trainer/engine/device.h"
#include "trainer/loop/options.h"

namespace berth {

// The engine of a job that trains a model, or only infers, over data sets of at most
// `most_examples`. `config` has its task and labels.
EngineOptions training_engine(const Settings& settings, const ModelConfig& config,
                              int64_t most_examples);
EngineOptions inference_engine(const Settings& settings, const ModelConfig& config,
                               int64_t most_examples);

}  // namespace berth
