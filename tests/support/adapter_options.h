#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "storage/base/json.h"
#include "trainer/model/lora.h"

// Reads adapter_config.json. The program only writes such files.
namespace berth {

inline LoraOptions adapter_options(std::string_view adapter_config) {
  const Json object = parse_json(adapter_config);
  LoraOptions lora{.rank = object.at("r").get<int64_t>(),
                   .alpha = object.at("lora_alpha").get<double>(),
                   .dropout = object.at("lora_dropout").get<double>()};
  for (const Json& name : object.at("target_modules")) {
    lora.target_modules += (lora.target_modules.empty() ? "" : ",") + name.get<std::string>();
  }
  return lora;
}

}  // namespace berth
