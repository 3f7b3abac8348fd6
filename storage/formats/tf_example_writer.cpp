#include "storage/formats/tf_example_writer.h"

#include "storage/base/protobuf_wire.h"

namespace berth {
namespace {

// Field numbers of example.proto and feature.proto. Like protobuf, the writer leaves out an empty
// packed list.
constexpr uint32_t kFeatureMap = 1, kMapEntry = 1, kKey = 1, kValue = 2, kItem = 1;

ProtoWriter feature_of(std::monostate) { return {}; }

ProtoWriter feature_of(const std::vector<std::string>& texts) {
  ProtoWriter list, feature;
  for (const std::string& text : texts) list.text(kItem, text);
  feature.message(1, list);
  return feature;
}

ProtoWriter feature_of(const std::vector<float>& numbers) {
  ProtoWriter list, feature;
  if (!numbers.empty()) list.bytes(kItem, std::as_bytes(std::span(numbers)));
  feature.message(2, list);
  return feature;
}

ProtoWriter feature_of(const std::vector<int64_t>& numbers) {
  std::vector<std::byte> packed;
  for (const int64_t number : numbers) {
    auto rest = static_cast<uint64_t>(number);
    for (; rest >= 0x80; rest >>= 7) packed.push_back(static_cast<std::byte>(rest | 0x80));
    packed.push_back(static_cast<std::byte>(rest));
  }
  ProtoWriter list, feature;
  if (!packed.empty()) list.bytes(kItem, packed);
  feature.message(3, list);
  return feature;
}

}  // namespace

std::vector<std::byte> serialize_tf_example(std::span<const TfFeature> features) {
  ProtoWriter map, example;
  for (const TfFeature& each : features) {
    ProtoWriter entry;
    entry.text(kKey, each.name);
    entry.message(kValue,
                  std::visit([](const auto& values) { return feature_of(values); }, each.values));
    map.message(kMapEntry, entry);
  }
  example.message(kFeatureMap, map);
  return example.take();
}

}  // namespace berth
