#include "entrypoint/report/profile_report.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "entrypoint/report/progress_lines.h"
#include "storage/base/protobuf_wire.h"
#include "storage/base/text.h"

namespace berth {
namespace {

constexpr size_t kShown = 10;

double seconds_of(const ProfileSpan& span) {
  return 1e-9 * static_cast<double>(span.end_ns - span.begin_ns);
}

// Updates, and the seconds from the first one's beginning to the last one's end.
struct Updates {
  size_t count = 0;
  double seconds = 0, busy_s = 0;  // busy: inside of updates
};

Updates updates_of(const Profiler& profiler) {
  Updates updates;
  int64_t begin_ns = 0, end_ns = 0;
  for (const ProfileSpan& span : profiler.of_caller()) {
    if (span.depth > 0) continue;
    if (updates.count++ == 0) begin_ns = span.begin_ns;
    end_ns = span.end_ns;
    updates.busy_s += seconds_of(span);
  }
  updates.seconds = 1e-9 * static_cast<double>(end_ns - begin_ns);
  return updates;
}

// "thread 0 97 %, thread 1 95 %": how much of the time each thread computed.
std::string busy_text(const Profiler& profiler, double all_s) {
  std::string text;
  for (size_t thread = 0; thread < profiler.threads(); ++thread) {
    double busy_s = 0;
    for (const ProfileSpan& part : profiler.of_thread(thread)) busy_s += seconds_of(part);
    text += cat(thread == 0 ? "" : ", ", "thread ", thread,
                number_text(" %.0f %%", 100 * busy_s / all_s));
  }
  return text;
}

// The limit of a span with these FLOPs and bytes, and the seconds that it takes; "": none is known.
std::pair<std::string, double> limit_of(double flops, double bytes, const MachineLimits& limits) {
  std::pair<std::string, double> longest;
  if (flops > 0 && limits.peak_flops > 0) longest = {"products", flops / limits.peak_flops};
  if (bytes <= 0 || limits.memory.empty()) return longest;
  const auto holds = [&](const MemoryLevel& level) {
    return bytes <= static_cast<double>(level.size_bytes);
  };
  const auto first = std::ranges::find_if(limits.memory, holds);
  const MemoryLevel& level = first == limits.memory.end() ? limits.memory.back() : *first;
  const double moving_s = bytes / level.read_bytes_per_s;
  return moving_s > longest.second ? std::pair(level.name, moving_s) : longest;
}

}  // namespace

std::vector<ProfileCost> profile_costs(const Profiler& profiler, const MachineLimits& limits) {
  const std::vector<ProfileSpan>& spans = profiler.of_caller();
  // 1. What each span took by itself.
  std::vector<double> seconds, flops;
  std::vector<size_t> around;  // the spans that are open, by depth
  for (const ProfileSpan& span : spans) {
    around.resize(static_cast<size_t>(span.depth));
    if (!around.empty()) {
      seconds[around.back()] -= seconds_of(span);
      flops[around.back()] -= span.flops;
    }
    around.push_back(seconds.size());
    seconds.push_back(seconds_of(span));
    flops.push_back(span.flops);
  }
  // 2. The sums by name.
  std::map<std::string_view, ProfileCost> costs;
  for (size_t i = 0; i < spans.size(); ++i) {
    ProfileCost& cost = costs[spans[i].name];
    ++cost.calls;
    cost.seconds += seconds[i];
    cost.flops += flops[i];
    cost.bytes += spans[i].bytes;
    const auto [limit, least_s] = limit_of(flops[i], spans[i].bytes, limits);
    if (least_s > 0) cost.least_s[limit] += least_s;
  }
  std::vector<ProfileCost> sorted;
  for (auto& [name, cost] : costs) {
    cost.name = name;
    sorted.push_back(std::move(cost));
  }
  std::ranges::stable_sort(sorted, std::greater(), &ProfileCost::seconds);
  return sorted;
}

namespace {

// "  77 % of products": the share of the time that the limits take, and the largest of them.
std::string limit_text(const ProfileCost& cost) {
  if (cost.least_s.empty() || cost.seconds <= 0) return std::string(17, ' ');
  double all_s = 0;
  for (const auto& [limit, least_s] : cost.least_s) all_s += least_s;
  const auto second = [](const auto& pair) { return pair.second; };
  const std::string& largest = std::ranges::max_element(cost.least_s, {}, second)->first;
  std::string text = cat(number_text("%5.0f %% ", 100 * all_s / cost.seconds), largest);
  text.resize(17, ' ');
  return text;
}

std::string rate_text(double amount, double seconds) {
  return amount > 0 && seconds > 0 ? number_text("%9.3g", amount / seconds * 1e-9)
                                   : std::string(9, ' ');
}

}  // namespace

std::vector<std::string> profile_lines(const Profiler& profiler, const MachineLimits& limits) {
  const Updates updates = updates_of(profiler);
  if (updates.count == 0) return {"profile: no update was recorded"};
  const auto count = static_cast<double>(updates.count);
  std::vector<std::string> lines;
  lines.push_back(cat("profile of ", counted(static_cast<int64_t>(updates.count), "update"), ", ",
                      number_text("%.4g", updates.seconds / count), " s each",
                      profiler.threads() > 0 ? "; busy: " : "",
                      busy_text(profiler, updates.seconds),
                      profiler.is_full() ? " (the record was full before the end)" : ""));
  lines.push_back(
      "  share   ms/update  calls/update  GFLOP/s     GB/s  of the limit     operation or phase");
  for (const ProfileCost& cost : profile_costs(profiler, limits)) {
    if (lines.size() == 2 + kShown) break;
    lines.push_back(cat(number_text("%5.1f %%", 100 * cost.seconds / updates.busy_s),
                        number_text("%12.3f", 1e3 * cost.seconds / count),
                        number_text("%14.1f", static_cast<double>(cost.calls) / count),
                        rate_text(cost.flops, cost.seconds), rate_text(cost.bytes, cost.seconds),
                        limit_text(cost), "  ", cost.name));
  }
  return lines;
}

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
