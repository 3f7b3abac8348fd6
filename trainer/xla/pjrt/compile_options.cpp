#include "trainer/xla/pjrt/compile_options.h"

#include "storage/base/error.h"
#include "storage/base/protobuf_wire.h"

namespace berth {

std::string serialized(const PjrtCompileOptions& options) {
  if (options.replicas < 1) throw Error(Code::kInternal, "a program has less than one replica");
  const bool is_assigned = !options.device_ids.empty();
  if (is_assigned && options.device_ids.size() != static_cast<size_t>(options.replicas)) {
    throw Error(Code::kInternal, "not every replica of a program has a device");
  }
  ProtoWriter build;
  build.int64(1, -1);
  build.int64(4, options.replicas);
  build.int64(5, 1);
  if (is_assigned) {
    ProtoWriter ids, assignment;
    for (const int id : options.device_ids) ids.int64(1, id);
    assignment.int64(1, options.replicas);
    assignment.int64(2, 1);
    assignment.message(3, ids);
    build.message(9, assignment);
  }
  ProtoWriter all;
  all.message(3, build);
  for (const auto& [name, value] : options.flags) {
    ProtoWriter flag, entry;
    flag.varint(2, value ? 1 : 0);
    entry.text(1, name);
    entry.message(2, flag);
    all.message(7, entry);
  }
  return std::string(as_text(all.written()));
}

}  // namespace berth
