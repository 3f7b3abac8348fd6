#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "entrypoint/platform/platform.h"
#include "entrypoint/report/mlflow/mlflow_client.h"
#include "storage/base/background.h"
#include "storage/base/clock.h"
#include "storage/storage.h"
#include "trainer/loop/observer.h"
#include "trainer/loop/setting.h"

namespace berth {

struct MlflowRunOptions {
  MlflowOptions server;
  CertificateAuthorities authorities{};
  std::string name;          // of the run, where the environment names none
  Uri file;                  // JOB_DIR/mlflow.json, by which a resumed job finds its run
  SettingsTable parameters;  // the job's settings
  Clock wall_clock = wall_clock_s, steady_clock = steady_clock_s;
};

// Whether the address is one that MlflowRun can reach: http:// or https://.
bool is_tracking_server(const std::string& uri);

// The run that an earlier process of the job began on this server, as mlflow.json says; empty:
// there is none.
std::string recorded_run(std::string_view mlflow_json, const std::string& tracking_uri);

// Sends the settings and the metrics of a job to an MLflow tracking server: loss, learning_rate,
// grad_norm and examples_per_second at logged steps, and eval_loss, eval_accuracy and so on, as
// Hugging Face's Trainer names them. The run is FINISHED at the end, and KILLED where the job ends
// before; a job that is resumed goes on with its run.
//
// A thread of its own sends them, every ten seconds. It never disturbs the training: a failure is
// one warning. Numbers that were not sent are stored (the newest 100,000) and sent later. The end
// of the job waits for this at most ten seconds.
class MlflowRun final : public Observer {
 public:
  // Borrows the storage.
  MlflowRun(Storage& storage, MlflowRunOptions options);
  ~MlflowRun() override;

  void on_start(const JobReport& report) override;
  void on_step(const StepReport& report) override;
  void on_evaluation(const EvaluationReport& report) override;
  void on_finish() override;

 private:
  void add(const std::string& key, double value, int64_t step);
  void send_when_due();
  // These run on the thread of their own.
  void send(std::optional<MlflowStatus> status);
  void begin();
  int64_t now_ms() const { return static_cast<int64_t>(options_.wall_clock() * 1000); }

  Storage& storage_;
  const MlflowRunOptions options_;
  std::atomic<bool> gives_up_ = false;  // ends a request that is under way
  const std::unique_ptr<HttpClient> http_;
  MlflowClient client_;
  std::mutex mutex_;  // guards pending_
  std::vector<MlflowMetric> pending_;
  std::string run_;  // empty: not begun
  bool warned_ = false;
  double sent_s_;
  bool ended_ = false;
  Background background_;  // the last member, because it must end before the members that it uses
};

}  // namespace berth
