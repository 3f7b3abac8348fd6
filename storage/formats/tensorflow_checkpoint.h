#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/bytes.h"

// The files beside a TensorFlow checkpoint's tensors. Thread-safe.
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

// TF2's tf.train.Checkpoint names a variable by the path of attributes that leads to it. The graph
// of these paths is stored as a string tensor of this name, which holds one TrackableObjectGraph
// message (tensorflow/core/protobuf/trackable_object_graph.proto).
constexpr std::string_view kObjectGraphKey = "_CHECKPOINTABLE_OBJECT_GRAPH";

// The suffix of every such variable name.
constexpr std::string_view kVariableValue = "/.ATTRIBUTES/VARIABLE_VALUE";

// Maps each checkpoint key to the full name that the saving program gave the variable, such as
// "transformer/layer_0/self_attention/query/kernel". Only the attributes of the nodes are read, in
// order. Edges are not followed, so cycles and missing nodes do no harm. Throws kCorrupt, naming
// the byte, if the message is malformed, or has more than 32 MiB of names.
std::map<std::string, std::string, std::less<>> full_names(Bytes object_graph);

}  // namespace berth
