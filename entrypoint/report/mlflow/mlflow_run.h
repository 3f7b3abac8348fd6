#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "entrypoint/platform/platform.h"
#include "storage/base/clock.h"
#include "storage/base/thread_pool.h"
#include "storage/http/http_client.h"
#include "storage/storage.h"
#include "trainer/inputs/setting.h"
#include "trainer/loop/observer.h"

namespace berth {

// A number at one update, as a tracking server stores it.
struct MlflowMetric {
  std::string key;
  double value = 0;  // finite
  int64_t time_ms = 0, step = 0;
};

enum class MlflowStatus { kRunning, kFinished, kKilled };

// The requests of MLflow's REST API that a job needs (mlflow.org/docs/latest/rest-api.html). Each
// function makes one attempt, and waits at most ten seconds. It throws what HttpClient throws, and
// kUnavailable, with the server's message, if the server refuses. Used by one thread at a time.
class MlflowClient {
 public:
  // Borrows the client. The tracking server's address is http(s)://HOST[:PORT][/PATH]. Throws
  // kUsage where a token or a password would be sent to another machine unencrypted.
  MlflowClient(HttpClient& http, MlflowOptions options);

  // Begins a run of the experiment that the options name, which is made where it is missing.
  // Returns the run's id.
  std::string create_run(const std::string& name, int64_t now_ms);
  // A run that has ended may run again, for example when a job resumes.
  void set_status(const std::string& run, MlflowStatus status, int64_t now_ms);
  // Adds any number of metrics. Metrics that the server has are replaced.
  void log_metrics(const std::string& run, const std::vector<MlflowMetric>& metrics);
  // Sets parameters. Empty values are left out, and long ones cut at 500 characters, which is what
  // every version of MLflow takes.
  void log_parameters(const std::string& run, const SettingsTable& parameters);

 private:
  HttpAnswer send(const std::string& method, const std::string& call, const std::string& body);
  std::string post(const std::string& call, const std::string& body);
  std::string experiment_id();

  HttpClient& http_;
  const MlflowOptions options_;
  std::string base_;
  HttpHeaders headers_;
};

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
