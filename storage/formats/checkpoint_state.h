#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace berth {

// Reads the file named "checkpoint" beside a model's checkpoints. It is a CheckpointState message
// in protobuf's text format (tensorflow/python/training/checkpoint_state.proto), with lines such as
//
//   model_checkpoint_path: "model.ckpt-1000"
//
// Returns prefixes that may name the latest checkpoint; the caller takes the first whose .index
// file exists. A path relative to the directory is the only result. An absolute path (or a URI)
// comes first and is followed by its last part, relative to the directory, because directories get
// moved. No relative result leads out of the directory. The result is empty if the file names no
// checkpoint. Throws kCorrupt, naming the line, if the text does not have this form.
std::vector<std::string> latest_checkpoint_prefixes(std::string_view state_file);

}  // namespace berth
