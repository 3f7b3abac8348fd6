#include "entrypoint/report/perfetto_trace.h"

#include <map>
#include <string_view>

#include "storage/base/protobuf_wire.h"
#include "storage/base/text.h"

namespace berth {
namespace {

// The numbers of the fields that are written here, by message.
namespace trace {
constexpr uint32_t kPacket = 1;
}
namespace trace_packet {
constexpr uint32_t kTimestamp = 8, kSequenceId = 10, kTrackEvent = 11, kInternedData = 12,
                   kSequenceFlags = 13, kTrackDescriptor = 60;
constexpr uint64_t kStateCleared = 1, kNeedsState = 2;  // of sequence_flags
}  // namespace trace_packet
namespace trace_track {
constexpr uint32_t kUuid = 1, kProcess = 3, kThread = 4, kParent = 5;
constexpr uint32_t kProcessPid = 1, kProcessName = 6;
constexpr uint32_t kThreadPid = 1, kThreadTid = 2, kThreadName = 5;
}  // namespace trace_track
namespace trace_event {
constexpr uint32_t kAnnotation = 4, kType = 9, kNameId = 10, kTrack = 11;
constexpr uint64_t kBegin = 1, kEnd = 2;  // of type
constexpr uint32_t kAnnotationDouble = 5, kAnnotationName = 10;
constexpr uint32_t kInternedNames = 2, kInternedId = 1, kInternedText = 2;  // of InternedData
}  // namespace trace_event

constexpr uint64_t kSequence = 1, kProcessTrack = 1, kTrainingTrack = 2, kFirstThreadTrack = 3;

class TraceWriter {
 public:
  void add_process(const TraceProcess& process) {
    ProtoWriter about, descriptor;
    about.varint(trace_track::kProcessPid, static_cast<uint64_t>(process.pid));
    about.text(trace_track::kProcessName, process.name);
    descriptor.varint(trace_track::kUuid, kProcessTrack);
    descriptor.message(trace_track::kProcess, about);
    add_descriptor(descriptor);
  }

  // Viewers sort the tracks of a process by the thread's number.
  void add_thread(uint64_t uuid, int32_t pid, const std::string& name) {
    ProtoWriter about, descriptor;
    about.varint(trace_track::kThreadPid, static_cast<uint64_t>(pid));
    about.varint(trace_track::kThreadTid, static_cast<uint64_t>(pid) + uuid - kTrainingTrack);
    about.text(trace_track::kThreadName, name);
    descriptor.varint(trace_track::kUuid, uuid);
    descriptor.varint(trace_track::kParent, kProcessTrack);
    descriptor.message(trace_track::kThread, about);
    add_descriptor(descriptor);
  }

  void begin(uint64_t uuid, const ProfileSpan& span) {
    ProtoWriter message;
    message.varint(trace_event::kType, trace_event::kBegin);
    message.varint(trace_event::kTrack, uuid);
    ProtoWriter interned;
    message.varint(trace_event::kNameId, id_of(span.name, interned));
    const double seconds = 1e-9 * static_cast<double>(span.end_ns - span.begin_ns);
    if (span.bytes > 0) annotate(message, "bytes", span.bytes);
    if (span.flops > 0) annotate(message, "flops", span.flops);
    if (span.flops > 0 && seconds > 0) annotate(message, "flops_per_second", span.flops / seconds);
    if (span.bytes > 0 && seconds > 0) annotate(message, "bytes_per_second", span.bytes / seconds);
    add_event(span.begin_ns, message, interned);
  }

  void end(uint64_t uuid, int64_t at_ns) {
    ProtoWriter message;
    message.varint(trace_event::kType, trace_event::kEnd);
    message.varint(trace_event::kTrack, uuid);
    add_event(at_ns, message, {});
  }

  std::vector<std::byte> take() { return trace_.take(); }

 private:
  static void annotate(ProtoWriter& message, std::string_view name, double value) {
    ProtoWriter annotation;
    annotation.text(trace_event::kAnnotationName, name);
    annotation.float64(trace_event::kAnnotationDouble, value);
    message.message(trace_event::kAnnotation, annotation);
  }

  // Names are written once, with the first event that has them.
  uint64_t id_of(const char* name, ProtoWriter& interned) {
    const auto [at, is_new] = names_.try_emplace(name, names_.size() + 1);
    if (is_new) {
      ProtoWriter entry;
      entry.varint(trace_event::kInternedId, at->second);
      entry.text(trace_event::kInternedText, name);
      interned.message(trace_event::kInternedNames, entry);
    }
    return at->second;
  }

  void add_descriptor(const ProtoWriter& descriptor) {
    ProtoWriter message;
    message.varint(trace_packet::kSequenceId, kSequence);
    if (is_first_) message.varint(trace_packet::kSequenceFlags, trace_packet::kStateCleared);
    is_first_ = false;
    message.message(trace_packet::kTrackDescriptor, descriptor);
    trace_.message(trace::kPacket, message);
  }

  void add_event(int64_t at_ns, const ProtoWriter& what, const ProtoWriter& interned) {
    ProtoWriter message;
    message.varint(trace_packet::kTimestamp, static_cast<uint64_t>(at_ns));
    message.varint(trace_packet::kSequenceId, kSequence);
    message.varint(trace_packet::kSequenceFlags, trace_packet::kNeedsState);
    if (!interned.written().empty()) message.message(trace_packet::kInternedData, interned);
    message.message(trace_packet::kTrackEvent, what);
    trace_.message(trace::kPacket, message);
  }

  ProtoWriter trace_;
  bool is_first_ = true;
  std::map<std::string_view, uint64_t> names_;
};

// Spans in the order of their beginnings, each inside the last one of a smaller depth.
void add_nested(TraceWriter& writer, uint64_t uuid, const std::vector<ProfileSpan>& spans) {
  std::vector<int64_t> open;  // their ends
  const auto close_to = [&](size_t depth) {
    for (; open.size() > depth; open.pop_back()) writer.end(uuid, open.back());
  };
  for (const ProfileSpan& span : spans) {
    close_to(static_cast<size_t>(span.depth));
    writer.begin(uuid, span);
    open.push_back(span.end_ns);
  }
  close_to(0);
}

}  // namespace

std::vector<std::byte> perfetto_trace(const Profiler& profiler, const TraceProcess& process) {
  TraceWriter writer;
  writer.add_process(process);
  writer.add_thread(kTrainingTrack, process.pid, "training");
  for (size_t thread = 0; thread < profiler.threads(); ++thread) {
    writer.add_thread(kFirstThreadTrack + thread, process.pid, cat("thread ", thread));
  }
  const uint64_t beside = kFirstThreadTrack + profiler.threads();
  if (!profiler.beside().empty()) writer.add_thread(beside, process.pid, "network");
  add_nested(writer, beside, profiler.beside());
  add_nested(writer, kTrainingTrack, profiler.of_caller());
  for (size_t thread = 0; thread < profiler.threads(); ++thread) {
    add_nested(writer, kFirstThreadTrack + thread, profiler.of_thread(thread));
  }
  return writer.take();
}

}  // namespace berth
