#pragma once

#include "trainer/model/config.h"
#include "trainer/model/config_reader.h"

namespace berth {

// The part of parse_config() that only ModernBERT has (Warner et al. 2024, arXiv:2412.13663). The
// window and the bases of rotary positions are read under the names of transformers 4 and of
// transformers 5. `object` is what `read` reads. Throws as parse_config() does.
void parse_modernbert(const ConfigReader& read, const Json& object, ModelConfig& config);

}  // namespace berth
