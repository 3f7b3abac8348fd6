#pragma once

#include "trainer/cpu/parameters.h"
#include "trainer/model/lora.h"

namespace berth {

// Fills `merged`, whose table is the config's without adapters, from `adapted`: every adapted
// matrix becomes W + alpha / rank * B A, all others are copied.
void merge_adapters(const LoraOptions& lora, const Parameters& adapted, Parameters& merged,
                    Kernels& kernels);

}  // namespace berth
