#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace berth {

// The file named "checkpoint" beside a model's checkpoints: CheckpointState as text
// (tensorflow/python/training/checkpoint_state.proto), lines such as
//
//   model_checkpoint_path: "model.ckpt-1000"
//
// The prefixes that may be the latest checkpoint, the first whose .index exists being it. A path
// relative to the directory stands alone; an absolute one (or a URI) stands first, then, as
// directories move, its last part, relative. No relative one leads out of the directory. Empty: the
// file names none. Throws kCorrupt, naming the line, on text that is not of this form.
std::vector<std::string> latest_checkpoint_prefixes(std::string_view state_file);

}  // namespace berth
