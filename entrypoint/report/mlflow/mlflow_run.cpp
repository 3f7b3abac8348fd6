#include "entrypoint/report/mlflow/mlflow_run.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "storage/base/base64.h"
#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/log.h"
#include "storage/base/secrets.h"
#include "storage/base/text.h"
#include "storage/whole_file.h"

namespace berth {
namespace {

constexpr double kTimeout_s = 10;
// The limits of one request; the server's own limits are 1,000 metrics and 100 parameters.
constexpr size_t kMetricsAtOnce = 500, kParametersAtOnce = 100;
constexpr size_t kLongestParameter = 500;

std::string_view name_of(MlflowStatus status) {
  switch (status) {
    case MlflowStatus::kRunning:
      return "RUNNING";
    case MlflowStatus::kFinished:
      return "FINISHED";
    case MlflowStatus::kKilled:
      return "KILLED";
  }
  return "";
}

// A text in the objects of these names, each inside the one before; "" if it is not there.
std::string text_at(const Json& json, std::initializer_list<const char*> objects,
                    const char* name) {
  const Json* inner = &json;
  for (const char* object : objects) inner = JsonObject(inner).object(object);
  return JsonObject(inner).text(name).value_or("");
}

// The server's reason for refusing a request.
std::string reason_of(const HttpAnswer& answer) {
  const std::string message = text_at(parse_json(answer.body), {}, "message");
  return cat("status ", answer.status, message.empty() ? "" : ": " + message.substr(0, 300));
}

[[noreturn]] void refuse(const std::string& call, const HttpAnswer& answer) {
  throw Error(Code::kUnavailable, reason_of(answer), cat("MLflow, ", call));
}

}  // namespace

MlflowClient::MlflowClient(HttpClient& http, MlflowOptions options)
    : http_(http), options_(std::move(options)), base_(options_.tracking_uri) {
  while (base_.ends_with('/')) base_.pop_back();
  headers_.add("Content-Type", "application/json");
  std::string secret;
  if (!options_.token.empty()) {
    secret = options_.token;
    headers_.add("Authorization", "Bearer " + secret);
  } else if (!options_.username.empty()) {
    remember_secret(options_.password);
    secret = base64(cat(options_.username, ":", options_.password));
    headers_.add("Authorization", "Basic " + secret);
  }
  remember_secret(secret);
  require_private_credentials({.url = base_, .headers = headers_}, "MLFLOW_TRACKING_URI");
}

HttpAnswer MlflowClient::send(const std::string& method, const std::string& call,
                              const std::string& body) {
  HttpRequest request{.method = method, .url = cat(base_, "/api/2.0/mlflow/", call)};
  request.headers = headers_;
  request.timeout_s = kTimeout_s;
  if (!body.empty()) request.body = {as_bytes(body)};
  return http_.send(request);
}

std::string MlflowClient::post(const std::string& call, const std::string& body) {
  const HttpAnswer answer = send("POST", call, body);
  if (!answer.ok()) refuse(call, answer);
  return answer.body;
}

std::string MlflowClient::experiment_id() {
  if (!options_.experiment_id.empty()) return options_.experiment_id;
  if (options_.experiment_name.empty()) return "0";  // the experiment that every server has
  const std::string call = "experiments/get-by-name";
  const HttpAnswer answer =
      send("GET", cat(call, "?experiment_name=", percent_encoded(options_.experiment_name)), "");
  if (answer.ok()) return text_at(parse_json(answer.body), {"experiment"}, "experiment_id");
  if (answer.status != 404) refuse(call, answer);
  const Json made =
      parse_json(post("experiments/create", to_text(Json{{"name", options_.experiment_name}})));
  return text_at(made, {}, "experiment_id");
}

std::string MlflowClient::create_run(const std::string& name, int64_t now_ms) {
  const OrderedJson tags = {{{"key", "mlflow.runName"}, {"value", name}},
                            {{"key", "mlflow.source.name"}, {"value", "berth"}}};
  const std::string body = to_text(OrderedJson{{"experiment_id", experiment_id()},
                                               {"run_name", name},
                                               {"start_time", now_ms},
                                               {"tags", tags}});
  const Json made = parse_json(post("runs/create", body));
  const std::string id = text_at(made, {"run", "info"}, "run_id");
  if (id.empty()) {
    throw Error(Code::kUnavailable, "the answer names no run", "MLflow, runs/create");
  }
  return id;
}

void MlflowClient::set_status(const std::string& run, MlflowStatus status, int64_t now_ms) {
  OrderedJson body = {{"run_id", run}, {"status", name_of(status)}};
  if (status != MlflowStatus::kRunning) body["end_time"] = now_ms;
  post("runs/update", to_text(body));
}

void MlflowClient::log_metrics(const std::string& run, const std::vector<MlflowMetric>& metrics) {
  for (size_t begin = 0; begin < metrics.size(); begin += kMetricsAtOnce) {
    OrderedJson list = OrderedJson::array();
    for (size_t i = begin; i < std::min(metrics.size(), begin + kMetricsAtOnce); ++i) {
      const MlflowMetric& metric = metrics[i];
      list.push_back({{"key", metric.key},
                      {"value", metric.value},
                      {"timestamp", metric.time_ms},
                      {"step", metric.step}});
    }
    post("runs/log-batch", to_text(OrderedJson{{"run_id", run}, {"metrics", list}}));
  }
}

void MlflowClient::log_parameters(const std::string& run, const SettingsTable& parameters) {
  OrderedJson list = OrderedJson::array();
  const auto flush = [&] {
    if (list.empty()) return;
    post("runs/log-batch", to_text(OrderedJson{{"run_id", run}, {"params", list}}));
    list = OrderedJson::array();
  };
  for (const Setting& setting : parameters) {
    if (setting.value.empty()) continue;
    list.push_back({{"key", setting.name}, {"value", beginning(setting.value, kLongestParameter)}});
    if (list.size() == kParametersAtOnce) flush();
  }
  flush();
}

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
  if (report.has_loss) add("eval_loss", report.loss, report.step);
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
  if (text_at(json, {}, "tracking_uri") != Uri::parse(tracking_uri).to_string()) return "";
  return text_at(json, {}, "run_id");
}

}  // namespace berth
