#pragma once

#include <string_view>
#include <vector>

#include "storage/base/json.h"

namespace berth {

// Reads the part of YAML that manifests and files of options use: block mappings and sequences,
// flow sequences and mappings, plain and quoted scalars, the block scalars | and >, comments, and
// several documents. Every scalar becomes a string, and an empty value null. Throws kUsage, naming
// the line, on anything else: anchors, aliases, tags, complex keys, tabs before text, more than
// 1 MiB, more than 10,000 values or more than 32 levels.
std::vector<OrderedJson> parse_yaml(std::string_view text);

}  // namespace berth
