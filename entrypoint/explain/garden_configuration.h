#pragma once

#include <map>
#include <string>

#include "storage/base/json.h"

namespace berth {

// The options of a Model Garden configuration by their paths, "task.train_data.seq_length". A list
// is joined by commas, and an empty value is empty.
using GardenOptions = std::map<std::string, std::string>;

// Puts the options of a configuration over the options that are there.
void add_configuration(const OrderedJson& configuration, GardenOptions& options);

// Likewise the value of --params_override: "a.b=1,c=[2,3]", or a mapping in YAML or JSON. Throws
// kUsage where it is neither, or has a variable of a shell.
void add_overrides(const std::string& text, GardenOptions& options);

}  // namespace berth
