#pragma once

#include "trainer/model/config.h"
#include "trainer/model/config_reader.h"

namespace berth {

// Fills in what DeBERTa has besides (model_type "deberta-v2"); the sizes are set. Throws kUsage
// where the model is not built as those published as DeBERTa-v2 and v3.
void parse_deberta(const ConfigReader& read, ModelConfig& config);

}  // namespace berth
