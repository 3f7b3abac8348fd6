#pragma once

#include "trainer/model/lora.h"
#include "trainer/model/parameter_tensors.h"

namespace berth {

// Fills `merged`, whose table is the config's without adapters, from `adapted`, whose table has
// them. Every adapted matrix becomes W + alpha / rank * B A; all other values are copied.
void merge_adapters(const LoraOptions& lora, const ParameterTensors& adapted,
                    ParameterTensors& merged);

}  // namespace berth
