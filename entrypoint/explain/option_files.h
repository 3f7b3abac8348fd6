#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "entrypoint/explain/explain.h"
#include "entrypoint/explain/launch.h"
#include "storage/base/json.h"

namespace berth {

// Reads the part of YAML that manifests and files of options use: block mappings and sequences,
// flow sequences and mappings, plain and quoted scalars, the block scalars | and >, comments, and
// several documents. Every scalar becomes a string, and an empty value null. Throws kUsage, naming
// the line, on anything else: anchors, aliases, tags, complex keys, tabs before text, more than
// 1 MiB, more than 10,000 values or more than 32 levels.
std::vector<OrderedJson> parse_yaml(std::string_view text);

// A value of JSON or YAML as someone types it behind a flag: "3", "true", "a,b".
std::string option_text(const OrderedJson& value);

// The mapping in a file of options, JSON or YAML by its name. Throws kUsage, naming the file, where
// it holds anything else.
OrderedJson parse_options(const std::string& path, const std::string& text);

// The same for a file that the line names. A file that is not here or cannot be read is refused in
// launch.remarks.
std::optional<OrderedJson> read_options(const ReadFile& read_file, const std::string& path,
                                        Launch& launch);

// Reads the files of options that a line names, and puts their settings into `launch`: a file of
// arguments (`run_glue.py args.json`), the one of `accelerate launch --config_file`, and the one of
// --deepspeed.
void read_option_files(const ReadFile& read_file, Launch& launch);

}  // namespace berth
