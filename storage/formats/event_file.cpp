#include "storage/formats/event_file.h"

#include "storage/base/protobuf_wire.h"
#include "storage/formats/event_fields.h"
#include "storage/formats/tfrecord.h"

namespace berth {
namespace {

using namespace event_fields;

// Leaves out fields whose value is 0, as proto3 writers do.
ProtoWriter event_at(double wall_time_s, int64_t step) {
  ProtoWriter writer;
  if (wall_time_s != 0) writer.float64(event::kWallTime, wall_time_s);
  if (step != 0) writer.int64(event::kStep, step);
  return writer;
}

std::vector<std::byte> record(const ProtoWriter& event) {
  std::vector<std::byte> framed;
  append_tfrecord(framed, event.written());
  return framed;
}

}  // namespace

std::vector<std::byte> event_file_header(double wall_time_s) {
  ProtoWriter event = event_at(wall_time_s, 0);
  event.text(event::kFileVersion, "brain.Event:2");
  return record(event);
}

std::vector<std::byte> scalar_event(double wall_time_s, int64_t step,
                                    std::span<const Scalar> scalars) {
  ProtoWriter all;
  for (const Scalar& scalar : scalars) {
    ProtoWriter one;
    one.text(value::kTag, scalar.tag);
    one.float32(value::kSimpleValue, scalar.value);
    all.message(summary::kValue, one);
  }
  ProtoWriter event = event_at(wall_time_s, step);
  event.message(event::kSummary, all);
  return record(event);
}

std::vector<std::byte> text_event(double wall_time_s, int64_t step, const std::string& tag,
                                  const std::string& text) {
  ProtoWriter plugin;
  plugin.text(metadata::kPluginName, "text");
  ProtoWriter described;
  described.message(metadata::kPluginData, plugin);

  ProtoWriter content;
  content.varint(tensor::kDType, tensor::kDTypeString);
  content.message(tensor::kShape, ProtoWriter());  // a scalar
  content.text(tensor::kStringVal, text);

  ProtoWriter one;
  one.text(value::kTag, tag);
  one.message(value::kTensor, content);
  one.message(value::kMetadata, described);
  ProtoWriter all;
  all.message(summary::kValue, one);
  ProtoWriter event = event_at(wall_time_s, step);
  event.message(event::kSummary, all);
  return record(event);
}

}  // namespace berth
