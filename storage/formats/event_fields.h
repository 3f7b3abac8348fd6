#pragma once

#include <cstdint>

// Field numbers of the messages in event files, as tensorboard/compat/proto defines them:
// event.proto, summary.proto, tensor.proto, tensor_shape.proto.
namespace berth::event_fields {

namespace event {
inline constexpr uint32_t kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5;
}
namespace summary {
inline constexpr uint32_t kValue = 1;
}
namespace value {
inline constexpr uint32_t kTag = 1, kSimpleValue = 2, kTensor = 8, kMetadata = 9;
}
namespace metadata {
inline constexpr uint32_t kPluginData = 1, kDescription = 3, kDataClass = 4;
inline constexpr uint32_t kPluginName = 1, kPluginContent = 2;       // of PluginData
inline constexpr uint64_t kTensorClass = 2, kBlobSequenceClass = 3;  // of kDataClass
}  // namespace metadata
namespace tensor {
inline constexpr uint32_t kDType = 1, kShape = 2, kContent = 4, kStringVal = 8;
inline constexpr uint64_t kDTypeFloat = 1, kDTypeDouble = 2, kDTypeString = 7;
inline constexpr uint32_t kShapeDim = 2, kDimSize = 1;  // of TensorShapeProto
}  // namespace tensor

}  // namespace berth::event_fields
