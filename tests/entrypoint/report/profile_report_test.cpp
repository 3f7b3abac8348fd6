#include "entrypoint/report/profile_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "storage/base/protobuf_wire.h"

namespace berth {
namespace {

// Two updates on two threads, each with an operation of products inside of a phase.
Profiler recorded() {
  Profiler profiler(2);
  profiler.start();
  for (int update = 0; update < 2; ++update) {
    const ProfileScope all(&profiler, "update");
    const ProfileScope phase(&profiler, "forward");
    const ProfileScope operation(&profiler, "linear_forward", 64);
    profiler.add_flops(0, 500);
    profiler.add_flops(1, 500);
    const int64_t now_ns = profile_clock_ns();
    profiler.add_part(0, now_ns, now_ns + 10);
    profiler.add_part(1, now_ns, now_ns + 20);
  }
  profiler.stop();
  return profiler;
}

TEST(ProfileCosts, AreThoseWithoutTheSpansInside) {
  const Profiler profiler = recorded();
  std::map<std::string, ProfileCost> costs;
  double sum_s = 0, updates_s = 0;
  for (const ProfileCost& cost : profile_costs(profiler)) {
    costs[cost.name] = cost;
    sum_s += cost.seconds;
  }
  for (const ProfileSpan& span : profiler.of_caller()) {
    if (span.depth == 0) updates_s += 1e-9 * static_cast<double>(span.end_ns - span.begin_ns);
  }
  ASSERT_EQ(costs.size(), 3U);
  EXPECT_EQ(costs["linear_forward"].calls, 2U);
  EXPECT_EQ(costs["linear_forward"].flops, 2000);
  EXPECT_EQ(costs["linear_forward"].bytes, 128);
  EXPECT_EQ(costs["forward"].flops, 0);
  EXPECT_NEAR(sum_s, updates_s, 1e-12);
}

TEST(ProfileLines, ShowTheRatesOfProducts) {
  const std::vector<std::string> lines = profile_lines(recorded(), {.peak_flops = 1e12});
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_THAT(lines[0], testing::HasSubstr("profile of 2 updates"));
  EXPECT_THAT(lines[0], testing::HasSubstr("thread 1"));
  EXPECT_THAT(lines, testing::Contains(testing::ContainsRegex("% .*%.*linear_forward")));
  EXPECT_THAT(profile_lines(Profiler(1), {}),
              testing::ElementsAre("profile: no update was recorded"));
}

// A span of 1,000 FLOPs and 64 bytes. Its limit is what takes longer: the products, or the first
// level that holds the bytes.
TEST(ProfileCosts, StandAtTheLimitThatTakesLonger) {
  const Profiler profiler = recorded();
  const auto limits_of = [&](double peak_flops, uint64_t l1_bytes) {
    const MachineLimits limits{
        .peak_flops = peak_flops,
        .memory = {{.name = "L1", .size_bytes = l1_bytes, .read_bytes_per_s = 64},
                   {.name = "DRAM", .size_bytes = UINT64_MAX, .read_bytes_per_s = 16}}};
    std::map<std::string, std::map<std::string, double>> least_s;
    for (const ProfileCost& cost : profile_costs(profiler, limits))
      least_s[cost.name] = cost.least_s;
    EXPECT_TRUE(least_s["forward"].empty()) << "it has nothing but what is inside of it";
    return least_s["linear_forward"];
  };
  using Limits = std::map<std::string, double>;
  EXPECT_EQ(limits_of(2000, 64), (Limits{{"L1", 2}}));
  EXPECT_EQ(limits_of(500, 64), (Limits{{"products", 4}}));
  EXPECT_EQ(limits_of(500, 63), (Limits{{"DRAM", 8}}));
  EXPECT_EQ(limits_of(0, 64), (Limits{{"L1", 2}}));
  EXPECT_TRUE(profile_costs(profiler)[0].least_s.empty());
}

TEST(ProfileLines, NameTheLargestLimit) {
  const MachineLimits limits{.peak_flops = 1e12,
                             .memory = {{.name = "L2", .size_bytes = 64, .read_bytes_per_s = 1}}};
  EXPECT_THAT(profile_lines(recorded(), limits),
              testing::Contains(testing::ContainsRegex(" % L2 +linear_forward$")));
}

// A TPU or GPU computes on no thread of the process.
TEST(ProfileLines, SayNothingOfThreadsWhereThereAreNone) {
  Profiler profiler(0);
  profiler.start();
  {
    const ProfileScope all(&profiler, "update");
    const ProfileScope phase(&profiler, "waiting for the device");
  }
  profiler.stop();
  const std::vector<std::string> lines = profile_lines(profiler, {.peak_flops = 1e12});
  EXPECT_TRUE(lines[0].ends_with(" s each")) << lines[0];
  EXPECT_THAT(lines, testing::Contains(testing::EndsWith("waiting for the device")));
}

// Reads a trace back: the events of each track, as names of what begins and "end".
struct ReadTrace {
  explicit ReadTrace(const std::vector<std::byte>& trace) {
    for_each_field(trace, [&](const ProtoField& field) {
      EXPECT_EQ(field.number, 1U);
      add_packet(field.as_bytes());
    });
  }

  void add_packet(Bytes packet) {
    uint64_t at_ns = 0;
    for_each_field(packet, [&](const ProtoField& field) {
      if (field.number == 8) at_ns = field.as_varint();
      if (field.number == 12)
        for_each_field(field.as_bytes(), [&](const ProtoField& entry) {
          uint64_t id = 0;
          for_each_field(entry.as_bytes(), [&](const ProtoField& part) {
            if (part.number == 1) id = part.as_varint();
            if (part.number == 2) names[id] = part.as_text();
          });
        });
      if (field.number == 60)
        for_each_field(field.as_bytes(), [&](const ProtoField& part) {
          if (part.number == 1) tracks.insert(part.as_varint());
        });
      if (field.number == 11) add_event(at_ns, field.as_bytes());
    });
  }

  void add_event(uint64_t at_ns, Bytes event) {
    uint64_t type = 0, track = 0, name = 0;
    for_each_field(event, [&](const ProtoField& field) {
      if (field.number == 9) type = field.as_varint();
      if (field.number == 11) track = field.as_varint();
      if (field.number == 10) name = field.as_varint();
    });
    EXPECT_TRUE(tracks.contains(track));
    EXPECT_GE(at_ns, last_ns[track]);
    last_ns[track] = at_ns;
    events[track].push_back(type == 1 ? names.at(name) : "end");
  }

  std::set<uint64_t> tracks;
  std::map<uint64_t, std::string> names;
  std::map<uint64_t, uint64_t> last_ns;
  std::map<uint64_t, std::vector<std::string>> events;
};

TEST(PerfettoTrace, HasATrackForTheTrainingAndForEachThread) {
  ReadTrace trace(perfetto_trace(recorded(), {.name = "berth", .pid = 7}));
  EXPECT_EQ(trace.tracks, (std::set<uint64_t>{1, 2, 3, 4}));
  EXPECT_THAT(trace.events[2],
              testing::ElementsAre("update", "forward", "linear_forward", "end", "end", "end",
                                   "update", "forward", "linear_forward", "end", "end", "end"));
  EXPECT_THAT(trace.events[3],
              testing::ElementsAre("linear_forward", "end", "linear_forward", "end"));
  EXPECT_EQ(trace.events[4].size(), 4U);
}

}  // namespace
}  // namespace berth
