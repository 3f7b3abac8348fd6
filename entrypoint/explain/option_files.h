#pragma once

#include <optional>
#include <string>

#include "entrypoint/explain/explain.h"
#include "entrypoint/explain/launch.h"
#include "storage/base/json.h"

namespace berth {

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
