#include "entrypoint/report/mlflow/mlflow_client.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "storage/base/base64.h"
#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/secrets.h"
#include "storage/base/text.h"

namespace berth {
namespace {

constexpr double kTimeout_s = 10;
// The limits of one request; the server's own limits are 1,000 metrics and 100 parameters.
constexpr size_t kMetricsAtOnce = 500, kParametersAtOnce = 100;
constexpr size_t kLongestValue = 500;

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

std::string text_at(const Json& json, const char* object, const char* member) {
  const Json inner = json.is_object() ? json.value(object, Json()) : Json();
  const Json value = inner.is_object() ? inner.value(member, Json()) : Json();
  return value.is_string() ? value.get<std::string>() : "";
}

// The server's reason for refusing a request.
std::string reason_of(const HttpAnswer& answer) {
  const Json json = parse_json(answer.body);
  const Json message = json.is_object() ? json.value("message", Json()) : Json();
  return cat("status ", answer.status,
             message.is_string() ? ": " + message.get<std::string>().substr(0, 300) : "");
}

[[noreturn]] void refuse(const std::string& call, const HttpAnswer& answer) {
  throw Error(Code::kUnavailable, reason_of(answer), cat("MLflow, ", call));
}

// At most `most` bytes of valid UTF-8.
std::string cut(std::string text, size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0) == 0x80) --most;
  return text.substr(0, most);
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
  if (answer.ok()) return text_at(parse_json(answer.body), "experiment", "experiment_id");
  if (answer.status != 404) refuse(call, answer);
  const Json made =
      parse_json(post("experiments/create", to_text(Json{{"name", options_.experiment_name}})));
  const Json id = made.is_object() ? made.value("experiment_id", Json()) : Json();
  return id.is_string() ? id.get<std::string>() : "";
}

std::string MlflowClient::create_run(const std::string& name, int64_t now_ms) {
  const OrderedJson tags = {{{"key", "mlflow.runName"}, {"value", name}},
                            {{"key", "mlflow.source.name"}, {"value", "berth"}}};
  const std::string body = to_text(OrderedJson{{"experiment_id", experiment_id()},
                                               {"run_name", name},
                                               {"start_time", now_ms},
                                               {"tags", tags}});
  const Json made = parse_json(post("runs/create", body));
  const Json run = made.is_object() ? made.value("run", Json()) : Json();
  const std::string id = text_at(run, "info", "run_id");
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
    list.push_back({{"key", setting.name}, {"value", cut(setting.value, kLongestValue)}});
    if (list.size() == kParametersAtOnce) flush();
  }
  flush();
}

}  // namespace berth
