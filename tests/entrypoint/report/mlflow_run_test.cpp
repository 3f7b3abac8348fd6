#include "entrypoint/report/mlflow/mlflow_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "storage/base/clock.h"
#include "storage/base/json.h"
#include "storage/local_storage.h"
#include "storage/whole_file.h"
#include "tests/support/captured_log.h"
#include "tests/support/http_server.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// The part of a tracking server that a job uses. It answers as the mlflow package does.
class FakeTracking {
 public:
  std::string url() const { return server_.url(); }
  void refuse(bool refuses) {
    const std::lock_guard lock(mutex_);
    refuses_ = refuses;
  }
  void wait_for_a_call() {
    while (calls().empty()) sleep_s(0.001);
  }

  std::vector<std::string> calls() {
    const std::lock_guard lock(mutex_);
    return calls_;
  }
  // "key step value" of every metric, in the order of their arrival.
  std::vector<std::string> metrics() {
    const std::lock_guard lock(mutex_);
    return metrics_;
  }
  std::map<std::string, std::string> parameters() {
    const std::lock_guard lock(mutex_);
    return parameters_;
  }
  std::string status() {
    const std::lock_guard lock(mutex_);
    return status_;
  }
  std::string authorization() {
    const std::lock_guard lock(mutex_);
    return authorization_;
  }

 private:
  ServedAnswer answer(const ServedRequest& request) {
    const std::lock_guard lock(mutex_);
    const std::string prefix = "/api/2.0/mlflow/";
    if (!request.path.starts_with(prefix)) return {.status = 404};
    const std::string call = request.path.substr(prefix.size());
    calls_.push_back(call);
    authorization_ = request.header("Authorization").value_or("");
    if (refuses_) {
      return {.status = 503,
              .body = SharedBytes(R"({"message": "down; you sent )" + authorization_ + "\"}")};
    }
    const Json body = parse_json(std::string(request.body.view()));
    if (call == "experiments/get-by-name") {
      if (request.parameter("experiment_name") != "news & more") return {.status = 400};
      return {.status = 404, .body = SharedBytes(R"({"error_code": "RESOURCE_DOES_NOT_EXIST"})")};
    }
    if (call == "experiments/create") return {.body = SharedBytes(R"({"experiment_id": "7"})")};
    if (call == "runs/create") {
      const bool is_right = body.at("experiment_id") == "7" || body.at("experiment_id") == "0";
      status_ = "RUNNING";
      return {.status = is_right ? 200 : 400,
              .body = SharedBytes(R"({"run": {"info": {"run_id": "abc"}}})")};
    }
    if (body.value("run_id", "") != "abc") return {.status = 404};
    if (call == "runs/update") status_ = body.at("status");
    if (call == "runs/log-batch") {
      for (const Json& metric : body.value("metrics", Json::array())) {
        metrics_.push_back(metric.at("key").get<std::string>() + " " + to_text(metric.at("step")) +
                           " " + to_text(metric.at("value")));
      }
      for (const Json& parameter : body.value("params", Json::array())) {
        parameters_[parameter.at("key")] = parameter.at("value");
      }
    }
    return {.body = SharedBytes("{}")};
  }

  std::mutex mutex_;
  bool refuses_ = false;
  std::vector<std::string> calls_, metrics_;
  std::map<std::string, std::string> parameters_;
  std::string status_, authorization_;
  HttpServer server_{[this](const ServedRequest& request) { return answer(request); }};
};

class MlflowRunTest : public testing::Test {
 protected:
  MlflowRunOptions options() {
    return {.server = {.tracking_uri = server_.url() + "/",
                       .token = "a-secret-token-of-mlflow",
                       .experiment_name = "news & more"},
            .name = "job-1",
            .file = Uri::parse(scratch_ / "mlflow.json"),
            .parameters = {{"epochs", "3"}, {"empty", ""}, {"model", std::string(600, 'm')}},
            .steady_clock = [this] { return now_s_; }};
  }
  static StepReport step(int64_t number, double loss) {
    return {.step = number, .interval_loss = loss, .learning_rate = 0.5, .log = true};
  }

  ScratchDirectory scratch_;
  std::unique_ptr<Storage> storage_ = make_local_storage();
  FakeTracking server_;
  double now_s_ = 0;
};

TEST_F(MlflowRunTest, RefusesToSendACredentialUnencrypted) {
  MlflowRunOptions clear = options();
  clear.server.tracking_uri = "http://mlflow.example.org:5000";
  EXPECT_THAT([&] { MlflowRun(*storage_, clear); },
              ThrowsCode(Code::kUsage, "MLFLOW_TRACKING_URI"));
  clear.server.token.clear();
  const MlflowRun without(*storage_, clear);
}

TEST_F(MlflowRunTest, SendsSettingsAndMetricsAndEndsTheRun) {
  MlflowRun run(*storage_, options());
  run.on_start({});
  run.on_step(step(50, 0.25));
  run.on_step(step(100, std::numeric_limits<double>::quiet_NaN()));
  run.on_evaluation({.step = 100, .loss = 0.125, .metrics = {{"accuracy", 0.75}}});
  run.on_finish();
  EXPECT_THAT(server_.metrics(), Contains("loss 50 0.25"));
  EXPECT_THAT(server_.metrics(), Not(Contains(HasSubstr("loss 100 nan"))));
  EXPECT_THAT(server_.metrics(), Contains("eval_loss 100 0.125"));
  EXPECT_THAT(server_.metrics(), Contains("eval_accuracy 100 0.75"));
  EXPECT_EQ(server_.parameters()["epochs"], "3");
  EXPECT_EQ(server_.parameters()["model"].size(), 500u);
  EXPECT_FALSE(server_.parameters().contains("empty"));
  EXPECT_EQ(server_.status(), "FINISHED");
  EXPECT_EQ(server_.authorization(), "Bearer a-secret-token-of-mlflow");
}

TEST_F(MlflowRunTest, AResumedJobGoesOnWithItsRun) {
  {
    MlflowRun run(*storage_, options());
    run.on_start({});
    run.on_step(step(50, 0.25));
  }
  EXPECT_EQ(server_.status(), "KILLED");
  EXPECT_THAT(server_.metrics(), Contains("loss 50 0.25"));
  MlflowRun run(*storage_, options());
  run.on_start({});
  run.on_step(step(100, 0.125));
  run.on_finish();
  EXPECT_EQ(server_.status(), "FINISHED");
  const std::vector<std::string> calls = server_.calls();
  EXPECT_EQ(std::ranges::count(calls, "runs/create"), 1);
  EXPECT_THAT(server_.metrics(), Contains("loss 100 0.125"));
}

TEST_F(MlflowRunTest, AServerThatIsDownIsOneWarningAndLosesNothing) {
  const CapturedLog log;
  server_.refuse(true);
  MlflowRun run(*storage_, options());
  run.on_start({});
  for (int64_t number = 1; number <= 5; ++number) {
    now_s_ += 11;
    run.on_step(step(number, 0.5));
  }
  server_.wait_for_a_call();
  server_.refuse(false);
  run.on_finish();
  EXPECT_THAT(server_.metrics(), Contains("loss 1 0.5"));
  EXPECT_THAT(server_.metrics(), Contains("loss 5 0.5"));
  EXPECT_EQ(std::ranges::count(log.warnings(), '\n'), 1);
  EXPECT_THAT(log.warnings(), HasSubstr("could not be sent to MLflow"));
  EXPECT_THAT(log.warnings(), Not(HasSubstr("secret-token")));
}

TEST_F(MlflowRunTest, WithoutAServerTheJobEnds) {
  const CapturedLog log;
  MlflowRunOptions nowhere = options();
  nowhere.server.tracking_uri = "http://127.0.0.1:9";
  {
    MlflowRun run(*storage_, nowhere);
    run.on_start({});
    run.on_step(step(1, 0.5));
    run.on_finish();
  }
  EXPECT_EQ(std::ranges::count(log.warnings(), '\n'), 1);
  EXPECT_FALSE(read_text(*storage_, nowhere.file));
}

TEST_F(MlflowRunTest, ThousandsOfNumbersGoInSeveralRequests) {
  MlflowRun run(*storage_, options());
  for (int64_t number = 0; number < 1000; ++number) run.on_step(step(number, 0.5));
  run.on_finish();
  EXPECT_EQ(server_.metrics().size(), 4000u);
  const std::vector<std::string> calls = server_.calls();
  EXPECT_EQ(std::ranges::count(calls, "runs/log-batch"), 8 + 1);
}

TEST_F(MlflowRunTest, ARunThatTheEnvironmentNamesIsTaken) {
  MlflowRunOptions named = options();
  named.server.run_id = "abc";
  MlflowRun run(*storage_, named);
  run.on_start({});
  run.on_finish();
  EXPECT_THAT(server_.calls(), Not(Contains("runs/create")));
  EXPECT_EQ(server_.status(), "FINISHED");
}

TEST(Mlflow, OnlyHttpIsReached) {
  EXPECT_TRUE(is_tracking_server("https://mlflow.example/api"));
  for (const char* uri : {"", "file:///tmp/mlruns", "databricks", "sqlite:///a.db"}) {
    EXPECT_FALSE(is_tracking_server(uri)) << uri;
  }
}

}  // namespace
}  // namespace berth
