#include "storage/formats/object_graph.h"

#include "storage/base/error.h"
#include "storage/base/protobuf_wire.h"
#include "storage/base/text.h"

namespace berth {
namespace {

constexpr uint64_t kMostNameBytes = uint64_t{1} << 25;

struct Attribute {
  std::string_view full_name, checkpoint_key;
};

Attribute parse_attribute(Bytes message) {
  Attribute attribute;
  ProtoField field;
  for (ProtoReader reader(message); reader.next(field);) {
    if (field.number == 2) attribute.full_name = field.as_text();
    if (field.number == 3) attribute.checkpoint_key = field.as_text();
  }
  return attribute;
}

template <typename Visit>
void each_attribute(Bytes node, Visit visit) {
  ProtoField field;
  for (ProtoReader reader(node); reader.next(field);) {
    if (field.number == 2) visit(parse_attribute(field.as_bytes()));
  }
}

}  // namespace

std::map<std::string, std::string, std::less<>> full_names(Bytes object_graph) try {
  std::map<std::string, std::string, std::less<>> names;
  constexpr uint64_t kEach = 128;  // bytes that the map itself needs for an entry
  uint64_t bytes = 0;
  ProtoField field;
  for (ProtoReader reader(object_graph); reader.next(field);) {
    if (field.number != 1) continue;
    each_attribute(field.as_bytes(), [&](const Attribute& attribute) {
      if (attribute.full_name.empty() || attribute.checkpoint_key.empty()) return;
      bytes += attribute.full_name.size() + attribute.checkpoint_key.size() + kEach;
      if (bytes > kMostNameBytes) {
        throw Error(Code::kCorrupt, cat("more than ", human_bytes(kMostNameBytes), " of names"));
      }
      names.emplace(attribute.checkpoint_key, attribute.full_name);
    });
  }
  return names;
} catch (const Error& error) {
  throw error.at("tensor " + quoted(kObjectGraphKey));
}

}  // namespace berth
