#pragma once

#include <string>
#include <string_view>

#include "storage/base/bytes.h"
#include "storage/formats/tensor_file.h"
#include "trainer/model/config.h"
#include "trainer/model/lora.h"
#include "trainer/model/parameter_tensors.h"

namespace berth {

// The two files of the folder in which Hugging Face's PEFT and berth store a LoRA adapter. PEFT
// uses it with the model on which it was trained. berth writes such folders and reads none.
inline constexpr const char* kAdapterConfigFile = "adapter_config.json";
inline constexpr const char* kAdapterModelFile = "adapter_model.safetensors";

// The text of adapter_config.json, as PEFT reads it. `base_model` is a name or path of the model
// without adapters, and may be empty.
std::string to_adapter_config_json(const ModelConfig& config, const LoraOptions& lora,
                                   std::string_view base_model);

// Writes adapter_model.safetensors: the adapters and the head. Their names begin with
// "base_model.model.". Does not close the sink.
void save_adapter(const ParameterTensors& values, DType dtype, ByteSink& sink);

// Fills `merged`, whose table is the config's without adapters, from `adapted`, whose table has
// them. Every adapted matrix becomes W + alpha / rank * B A; all other values are copied.
void merge_adapters(const LoraOptions& lora, const ParameterTensors& adapted,
                    ParameterTensors& merged);

}  // namespace berth
