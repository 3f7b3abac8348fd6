#pragma once

#include "trainer/model/config.h"
#include "trainer/model/config_reader.h"

namespace berth {

// Reads what MPNet (Song et al. 2020, arXiv:2004.09297) has beyond other encoders into `config`.
// Throws kUsage, naming the key, if transformers' MPNet ignores the key's value.
void parse_mpnet(const ConfigReader& read, ModelConfig& config);

}  // namespace berth
