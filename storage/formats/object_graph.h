#pragma once

#include <map>
#include <string>
#include <string_view>

#include "storage/base/bytes.h"

namespace berth {

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
