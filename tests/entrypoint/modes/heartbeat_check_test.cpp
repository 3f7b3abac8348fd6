#include "entrypoint/modes/heartbeat_check.h"

#include <gtest/gtest.h>

#include "storage/base/error.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

constexpr const char* kTime = R"("time": "2025-06-15T15:06:40.000Z")";  // 1.75e9
constexpr const char* kHere = R"("process": "boot pid:[1] 12 34")";

std::string beat(const std::string& phase, const std::string& process = kHere) {
  return "{" + std::string(kTime) + ", " + process + R"(, "phase": ")" + phase +
         R"(", "step": 7, "max_steps": 9})";
}

std::string judge(const std::string& text, double age_s = 30) {
  return judge_heartbeat(
      text, {.now_s = 1.75e9 + age_s, .max_age_s = 60, .is_running = [](std::string_view process) {
               return process == "boot pid:[1] 12 34";
             }});
}

TEST(HeartbeatCheck, TellsWhatALivingJobDoes) {
  EXPECT_EQ(judge(beat("training")), "training, 7 of 9 updates, 30 s ago");
  EXPECT_EQ(judge(beat("finished", R"("process": "gone")"), 1e6), "finished, 7 of 9 updates");
}

TEST(HeartbeatCheck, ATrainingWithoutASignOfLifeHangs) {
  for (const char* phase : {"training", "evaluating"}) {
    EXPECT_THAT([&] { judge(beat(phase), 61); }, ThrowsCode(Code::kHung));
  }
  // These give none, however long they last.
  for (const char* phase : {"building", "teaching", "probing", "saving", "exporting"}) {
    EXPECT_NO_THROW(judge(beat(phase), 1e6)) << phase;
  }
}

// A restarted container finds the heartbeat of the process before.
TEST(HeartbeatCheck, AHeartbeatOfAnotherProcessIsNone) {
  EXPECT_THAT([&] { judge(beat("training", R"("process": "boot pid:[1] 12 35")")); },
              ThrowsCode(Code::kHung));
  EXPECT_THAT([&] { judge(beat("ended")); }, ThrowsCode(Code::kHung));
  EXPECT_NO_THROW(judge(beat("training", R"("pid": 1)")));  // where /proc tells no identity
}

TEST(HeartbeatCheck, ADamagedHeartbeatIsRefusedOrJudged) {
  for (const char* text : {"", "[]", "{}", R"({"phase": "training"})", R"({"time": 3, "phase": 4})",
                           R"({"time": "noon", "phase": "training"})"}) {
    EXPECT_THAT([&] { judge(text); }, ThrowsCode(Code::kCorrupt)) << text;
  }
}

}  // namespace
}  // namespace berth
