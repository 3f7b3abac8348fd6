#pragma once

#include "trainer/model/config.h"
#include "trainer/model/config_reader.h"

namespace berth {

// Fills in the fields that only DeBERTa has (model_type "deberta-v2"). The sizes must be set
// already. Throws kUsage if the model is not built like the published DeBERTa-v2 and v3.
void parse_deberta(const ConfigReader& read, ModelConfig& config);

}  // namespace berth
