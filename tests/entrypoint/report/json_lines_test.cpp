#include "entrypoint/report/json_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "entrypoint/report/log_output.h"

namespace berth {
namespace {

class JsonLinesTest : public testing::Test {
 protected:
  std::string out_;
  const Write write_ = [this](std::string_view text) { out_ += text; };
  const Clock clock_ = [] { return 1769903999.125; };
  JsonLines lines_{write_, clock_};
};

constexpr const char* kTime = R"({"time":"2026-01-31T23:59:59.125Z",)";

TEST_F(JsonLinesTest, LoggedStepIsOneLine) {
  lines_.on_step({.step = 1, .total_steps = 4, .log = false});
  EXPECT_EQ(out_, "");
  lines_.on_step({.step = 2,
                  .total_steps = 4,
                  .epoch = 0.5,
                  .loss = 9,
                  .interval_loss = 0.25,
                  .learning_rate = 4.1e-5,
                  .grad_norm = 1.0 / 3,
                  .examples_per_second = 412.5,
                  .tokens_per_second = 20000,
                  .log = true});
  EXPECT_EQ(
      out_,
      std::string(kTime) +
          R"("event":"step","severity":"INFO",)"
          R"("message":"update 2 of 4: loss 0.25, 412.5 examples/s","step":2,"total_steps":4,"epoch":0.5,)"
          R"("loss":0.25,"learning_rate":4.1e-05,"grad_norm":0.3333333,)"
          R"("examples_per_second":412.5,"tokens_per_second":20000.0})"
          "\n");
}

TEST_F(JsonLinesTest, EachProbeIsOneLine) {
  lines_.on_probes({});
  EXPECT_EQ(out_, "");
  lines_.on_probes({{.step = 20,
                     .name = "topics",
                     .metric = "accuracy",
                     .metrics = {{"accuracy", 0.75}},
                     .loss = 0.5,
                     .examples = 80,
                     .seconds = 1.25}});
  EXPECT_EQ(
      out_,
      std::string(kTime) +
          R"("event":"probe","severity":"INFO",)"
          R"("message":"probe topics after update 20: loss 0.5, accuracy 0.75","step":20,"name":"topics",)"
          R"("examples":80,"loss":0.5,"accuracy":0.75,"seconds":1.25})"
          "\n");
}

TEST_F(JsonLinesTest, AStepOfAnAcceleratorTellsItsUseAndMemory) {
  StepReport step{.flops_per_second = 1e12, .log = true};
  lines_.on_step(step);
  EXPECT_THAT(out_, testing::HasSubstr(R"("flops_per_second":1000000000000.0})"));
  step.peak_flops_per_second = 4e12;
  step.device_memory = {.in_use = 5, .peak_in_use = 7, .limit = 100};
  lines_.on_step(step);
  EXPECT_THAT(out_,
              testing::HasSubstr(R"("flops_utilization":0.25,"device_bytes_in_use":5,)"
                                 R"("device_peak_bytes_in_use":7,"device_limit_bytes":100})"));
}

TEST_F(JsonLinesTest, EvaluationCarriesItsMetricsByName) {
  lines_.on_evaluation({.step = 4,
                        .epoch = 1,
                        .examples = 10,
                        .loss = NAN,
                        .seconds = 0.5,
                        .metrics = {{"accuracy", 0.75}, {"f1", INFINITY}},
                        .majority_rate = 0.25,
                        .split = "eval"});
  EXPECT_EQ(
      out_,
      std::string(kTime) +
          R"("event":"evaluation","severity":"INFO",)"
          R"("message":"eval after update 4: loss nan, accuracy 0.75, f1 inf","step":4,"epoch":1.0,)"
          R"("split":"eval","examples":10,"loss":null,"accuracy":0.75,"f1":null,)"
          R"("majority_rate":0.25,"seconds":0.5})"
          "\n");
}

TEST_F(JsonLinesTest, StartCheckpointAndFinishAreLines) {
  lines_.on_start({.train_examples = 9, .kernels = "avx2"});
  EXPECT_THAT(out_, testing::HasSubstr(R"("event":"start")"));
  EXPECT_THAT(out_, testing::HasSubstr(R"("train_examples":9)"));
  out_.clear();
  lines_.on_checkpoint({.step = 4, .where = "out/\xff", .size_bytes = 12, .seconds = 0.5});
  EXPECT_EQ(out_, std::string(kTime) + R"("event":"checkpoint","severity":"INFO",)"
                                       R"("message":"checkpoint of update 4 in out/)"
                                       "\xef\xbf\xbd"
                                       R"(","step":4,"where":"out/)"
                                       "\xef\xbf\xbd"
                                       R"(","size_bytes":12,"seconds":0.5})"
                                       "\n");
  out_.clear();
  lines_.on_finish();
  EXPECT_EQ(out_, std::string(kTime) + R"("event":"finish","severity":"INFO",)"
                                       R"("message":"computing is finished"})"
                                       "\n");
}

TEST_F(JsonLinesTest, ALogLineIsAnEvent) {
  const LogSink sink = json_log_sink(LogLevel::kWarning, write_, clock_);
  sink(LogLevel::kInfo, "quiet");
  EXPECT_EQ(out_, "");
  sink(LogLevel::kWarning, "a \"b\"\n");
  EXPECT_EQ(out_, std::string(kTime) +
                      R"("event":"log","severity":"WARNING","message":"a \"b\"\n"})"
                      "\n");
}

TEST(LogOutput, AutoIsTextOnATerminal) {
  EXPECT_TRUE(wants_text("auto", true));
  EXPECT_FALSE(wants_text("auto", false));
  EXPECT_TRUE(wants_text("text", false));
  EXPECT_FALSE(wants_text("json", true));
}

TEST(LogOutput, ScopedSinkIsTheProgramsSink) {
  std::string out;
  {
    const ScopedLogSink scoped([&](LogLevel, const std::string& line) { out += line; });
    log_info("heard");
  }
  EXPECT_EQ(out, "heard");
}

TEST(Clock, TimeIsIso8601) {
  EXPECT_EQ(iso_time(0), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(iso_time(951782400.0), "2000-02-29T00:00:00.000Z");
}

}  // namespace
}  // namespace berth
