#pragma once

#include <map>
#include <string>
#include <string_view>

#include "storage/base/bytes.h"

namespace berth {

// TF2's tf.train.Checkpoint names a variable by the path of attributes that leads to it, and keeps
// the graph of those paths as a string tensor of this name: one TrackableObjectGraph
// (tensorflow/core/protobuf/trackable_object_graph.proto).
constexpr std::string_view kObjectGraphKey = "_CHECKPOINTABLE_OBJECT_GRAPH";

// The end of every such name.
constexpr std::string_view kVariableValue = "/.ATTRIBUTES/VARIABLE_VALUE";

// What the program that saved each variable called it: checkpoint key -> full name, such as
// "transformer/layer_0/self_attention/query/kernel". Only attributes are read, in the order of the
// nodes; edges are not followed, so cycles and missing nodes do no harm. Throws kCorrupt, naming
// the byte, on what is no such message; kMemory over 32 MiB of names.
std::map<std::string, std::string, std::less<>> full_names(Bytes object_graph);

}  // namespace berth
