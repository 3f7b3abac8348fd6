#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "entrypoint/platform/platform.h"
#include "storage/http/http_client.h"
#include "trainer/loop/setting.h"

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

}  // namespace berth
