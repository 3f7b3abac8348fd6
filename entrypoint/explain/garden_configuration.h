#pragma once

#include <map>
#include <string>

namespace berth {

// The options of a Model Garden configuration by their paths, "task.train_data.seq_length". A list
// is joined by commas, and an empty value is empty.
using GardenOptions = std::map<std::string, std::string>;

// Reads the options of a file, YAML or JSON by its name. They replace the present ones. Throws
// kUsage where it holds anything else.
void add_configuration(const std::string& path, const std::string& text, GardenOptions& options);

// Likewise the value of --params_override: "a.b=1,c=[2,3]", or a mapping in YAML or JSON. Throws
// kUsage where it is neither, or has a variable of a shell.
void add_overrides(const std::string& text, GardenOptions& options);

}  // namespace berth
