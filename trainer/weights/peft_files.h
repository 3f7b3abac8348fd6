#pragma once

#include <string>
#include <string_view>

#include "storage/base/bytes.h"
#include "storage/formats/tensor_file.h"
#include "trainer/model/config.h"
#include "trainer/model/lora.h"
#include "trainer/model/parameter_tensors.h"
#include "trainer/weights/pretrained.h"

namespace berth {

// What a LoRA adapter is kept as, by Hugging Face's PEFT and by us: a folder with these two files,
// to be used with the model that it was trained on.
inline constexpr const char* kAdapterConfigFile = "adapter_config.json";
inline constexpr const char* kAdapterModelFile = "adapter_model.safetensors";

// adapter_config.json, as PEFT reads it. `base_model`: a name or path of the model without
// adapters; may be empty.
std::string to_adapter_config_json(const ModelConfig& config, const LoraOptions& lora,
                                   std::string_view base_model);

// Throws kUsage, naming the key, where it asks for anything but LoRA of the encoder layers' dense
// layers as berth computes it; kCorrupt when it is not JSON.
LoraOptions parse_adapter_config(const ModelConfig& config, std::string_view json_text);

// adapter_model.safetensors: the adapters and the head, "base_model.model." before their names.
// Does not close the sink.
void save_adapter(const ParameterTensors& values, DType dtype, ByteSink& sink);

// Copies adapters and head from such a file into parameters with adapters; what the file lacks of
// the head is reported, not changed. Throws kBadData where adapters are missing, shapes differ or
// there are tensors besides.
LoadReport load_adapter(const TensorReader& file, ParameterTensors& values);

}  // namespace berth
