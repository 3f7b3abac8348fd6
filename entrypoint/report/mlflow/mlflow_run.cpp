#include "entrypoint/report/mlflow/mlflow_run.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/whole_file.h"

namespace berth {
namespace {

constexpr double kPause_s = 10;       // between two requests
constexpr double kLongestEnd_s = 10;  // that the end of the job waits
constexpr size_t kMostPending = 100'000;

std::unique_ptr<HttpClient> make_client(const CertificateAuthorities& authorities,
                                        const std::atomic<bool>& gives_up) {
  return make_http_client({.connect_timeout_s = 5,
                           .stall_timeout_s = 10,
                           .authorities = authorities,
                           .gives_up = [&gives_up] { return gives_up.load(); }});
}

}  // namespace

bool is_tracking_server(const std::string& uri) {
  return uri.starts_with("http://") || uri.starts_with("https://");
}

MlflowRun::MlflowRun(Storage& storage, MlflowRunOptions options)
    : storage_(storage),
      options_(std::move(options)),
      http_(make_client(options_.authorities, gives_up_)),
      client_(*http_, options_.server),
      sent_s_(options_.steady_clock()) {}

MlflowRun::~MlflowRun() {
  if (!ended_) background_.submit([this] { send(MlflowStatus::kKilled); });
  if (!background_.idle(kLongestEnd_s)) gives_up_ = true;
}

void MlflowRun::on_start(const JobReport&) {
  background_.submit([this] { send(std::nullopt); });
}

void MlflowRun::on_step(const StepReport& report) {
  if (report.log) {
    add("loss", report.interval_loss, report.step);
    add("learning_rate", report.learning_rate, report.step);
    add("grad_norm", report.grad_norm, report.step);
    add("examples_per_second", report.examples_per_second, report.step);
  }
  send_when_due();
}

void MlflowRun::on_evaluation(const EvaluationReport& report) {
  add("eval_loss", report.loss, report.step);
  for (const auto& [name, value] : report.metrics) add("eval_" + name, value, report.step);
  send_when_due();
}

void MlflowRun::on_finish() {
  ended_ = true;
  background_.submit([this] { send(MlflowStatus::kFinished); });
  if (!background_.idle(kLongestEnd_s)) gives_up_ = true;
}

void MlflowRun::add(const std::string& key, double value, int64_t step) {
  if (!std::isfinite(value)) return;  // JSON has no such number
  const std::lock_guard lock(mutex_);
  if (pending_.size() == kMostPending) pending_.erase(pending_.begin());
  pending_.push_back({.key = key, .value = value, .time_ms = now_ms(), .step = step});
}

void MlflowRun::send_when_due() {
  const double now = options_.steady_clock();
  if (now - sent_s_ < kPause_s || !background_.idle()) return;
  sent_s_ = now;
  background_.submit([this] { send(std::nullopt); });
}

void MlflowRun::send(std::optional<MlflowStatus> status) {
  std::vector<MlflowMetric> metrics;
  try {
    if (run_.empty()) begin();
    {
      const std::lock_guard lock(mutex_);
      metrics.swap(pending_);
    }
    client_.log_metrics(run_, metrics);
    metrics.clear();
    if (status) client_.set_status(run_, *status, now_ms());
  } catch (const Error& error) {
    const std::lock_guard lock(mutex_);
    pending_.insert(pending_.begin(), metrics.begin(), metrics.end());
    if (std::exchange(warned_, true)) return;
    log_warning(
        cat("the metrics could not be sent to MLflow and will be tried again: ", error.what()));
  }
}

// Finds the run of the job, or begins one, and sends the settings.
void MlflowRun::begin() {
  const std::string& given = options_.server.run_id;
  std::string run = given;
  if (given.empty()) {
    run =
        recorded_run(read_text(storage_, options_.file).value_or(""), options_.server.tracking_uri);
  }
  if (!run.empty()) {
    client_.set_status(run, MlflowStatus::kRunning, now_ms());
  } else {
    const std::string& name = options_.server.run_name;
    run = client_.create_run(name.empty() ? options_.name : name, now_ms());
    write_text(
        storage_, options_.file,
        to_text(OrderedJson{{"run_id", run},
                            {"tracking_uri", Uri::parse(options_.server.tracking_uri).to_string()}},
                2) +
            "\n");
    client_.log_parameters(run, options_.parameters);
  }
  run_ = run;
  log_info(cat("MLflow's run ", run_, " receives the metrics"));
}

std::string recorded_run(std::string_view mlflow_json, const std::string& tracking_uri) {
  const Json json = parse_json(mlflow_json);
  if (!json.is_object()) return "";
  const Json run = json.value("run_id", Json()), server = json.value("tracking_uri", Json());
  if (server != Uri::parse(tracking_uri).to_string()) return "";
  return run.is_string() ? run.get<std::string>() : "";
}

}  // namespace berth
