#include "entrypoint/platform/platform.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <vector>

#include "storage/base/json.h"
#include "storage/base/text.h"

namespace berth {
namespace {

// Returns `trial`, or "" if it cannot be a part of a path.
std::string checked_trial(const std::string& trial) {
  const bool is_name =
      trial.find_first_not_of("0123456789-_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") ==
      std::string::npos;
  return is_name ? trial : "";
}

// Returns task.trial of the JSON in TF_CONFIG if it is a text or a number, and "" otherwise.
std::string trial_of(const std::string& config) {
  const Json object = parse_json(config);
  const JsonObject task = JsonObject(object).within("task");
  if (const auto number = task.integer("trial")) return checked_trial(std::to_string(*number));
  return checked_trial(task.text("trial").value_or(""));
}

template <typename Text>
Tuning read_tuning(const Text& text) {
  Tuning tuning{.trial = checked_trial(text("CLOUD_ML_TRIAL_ID")),
                .metric_file = text("CLOUD_ML_HP_METRIC_FILE"),
                .metric_tag = text("CLOUD_ML_HP_METRIC_TAG")};
  for (const char* name : {"TF_CONFIG", "CLUSTER_SPEC"}) {
    if (tuning.trial.empty()) tuning.trial = trial_of(text(name));
  }
  return tuning;
}

// The variables of Google's libraries and of gcloud.
template <typename Text>
CredentialOptions read_credentials(const Text& text) {
  CredentialOptions options;
  options.application_credentials = text("GOOGLE_APPLICATION_CREDENTIALS");
  options.gcloud_directory = text("CLOUDSDK_CONFIG");
  if (options.gcloud_directory.empty() && !text("HOME").empty()) {
    options.gcloud_directory = text("HOME") + "/.config/gcloud";
  }
  for (const char* name : {"GCE_METADATA_ROOT", "GCE_METADATA_HOST"}) {  // the second one wins
    if (!text(name).empty()) options.metadata_host = text(name);
  }
  options.metadata_server = lower_ascii(text("NO_GCE_CHECK")) != "true";
  return options;
}

// Whether huggingface_hub takes a variable's value for "yes".
bool is_true(const std::string& value) {
  const std::string lower = lower_ascii(value);
  return lower == "1" || lower == "on" || lower == "yes" || lower == "true";
}

// SSL_CERT_FILE and SSL_CERT_DIR of OpenSSL come first. CURL_CA_BUNDLE of curl and
// REQUESTS_CA_BUNDLE of Python's requests come after them, and may name a file or a folder.
template <typename Text>
CertificateAuthorities read_authorities(const Text& text) {
  CertificateAuthorities named{.file = text("SSL_CERT_FILE"), .folder = text("SSL_CERT_DIR")};
  for (const char* name : {"CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE"}) {
    const std::string path = text(name);
    if (path.empty() || !named.file.empty() || !named.folder.empty()) continue;
    std::error_code unreadable;
    (std::filesystem::is_directory(path, unreadable) ? named.folder : named.file) = path;
  }
  return named;
}

// The path in a variable as Python's os.path.expanduser() and os.path.expandvars() read it, as
// huggingface_hub does. A variable that is not set stays as it is written.
std::string expanded(std::string path, const Environment& environment) {
  const char* const home = environment("HOME");
  if (home != nullptr && (path == "~" || path.starts_with("~/"))) path = home + path.substr(1);
  constexpr std::string_view kOfNames =
      "_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  std::string whole;
  for (size_t at = 0; at < path.size();) {
    const bool has_braces = path.compare(at, 2, "${") == 0;
    const size_t begin = at + (has_braces ? 2 : 1);
    const size_t end = has_braces ? path.find('}', begin) : path.find_first_not_of(kOfNames, begin);
    const size_t size = std::min(end, path.size()) - std::min(begin, path.size());
    const bool is_name = path[at] == '$' && size > 0 && !(has_braces && end == path.npos);
    const char* const value = is_name ? environment(path.substr(begin, size).c_str()) : nullptr;
    if (value == nullptr) {
      whole += path[at++];
      continue;
    }
    whole += value;
    at = begin + size + (has_braces ? 1 : 0);
  }
  return whole;
}

// What `text` returns of each variable, with the defaults of the huggingface_hub package.
template <typename Text>
HubOptions read_hub(const Text& text, const Environment& environment) {
  const auto first_of = [&](std::initializer_list<const char*> names) {
    std::string found;
    for (const char* name : names) {
      if (found.empty()) found = text(name);
    }
    return found;
  };
  HubOptions hub;
  if (std::string endpoint = text("HF_ENDPOINT"); !endpoint.empty()) {
    while (endpoint.ends_with('/')) endpoint.pop_back();
    hub.endpoint = endpoint;
  }
  std::string home = expanded(text("HF_HOME"), environment);
  if (home.empty() && !text("XDG_CACHE_HOME").empty())
    home = expanded(text("XDG_CACHE_HOME"), environment) + "/huggingface";
  if (home.empty() && !text("HOME").empty()) home = text("HOME") + "/.cache/huggingface";
  hub.token = first_of({"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"});
  hub.token_file = expanded(text("HF_TOKEN_PATH"), environment);
  if (hub.token_file.empty() && !home.empty()) hub.token_file = home + "/token";
  hub.cache_dir = expanded(first_of({"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"}), environment);
  if (hub.cache_dir.empty() && !home.empty()) hub.cache_dir = home + "/hub";
  hub.offline = is_true(first_of({"HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"}));
  return hub;
}

}  // namespace

Platform read_platform() {
  return read_platform([](const char* name) { return std::getenv(name); });
}

Platform read_platform(const Environment& environment) {
  const auto text = [&](const char* name) {
    const char* value = environment(name);
    return std::string(value == nullptr ? "" : value);
  };
  Platform platform;
  platform.model_dir = text("AIP_MODEL_DIR");
  platform.checkpoint_dir = text("AIP_CHECKPOINT_DIR");
  platform.tensorboard_log_dir = text("AIP_TENSORBOARD_LOG_DIR");
  platform.training_data = text("AIP_TRAINING_DATA_URI");
  platform.validation_data = text("AIP_VALIDATION_DATA_URI");
  platform.test_data = text("AIP_TEST_DATA_URI");
  platform.term = text("TERM");
  platform.instruction_set = text("BERTH_INSTRUCTION_SET");
  platform.tuning = read_tuning(text);
  platform.accelerators = {.tpu_library = text("TPU_LIBRARY_PATH"),
                           .named_libraries = text("PJRT_NAMES_AND_LIBRARY_PATHS"),
                           .tpu_hosts = text("TPU_WORKER_HOSTNAMES"),
                           .skips_metadata = !text("TPU_SKIP_MDS_QUERY").empty(),
                           .xla_flags = text("XLA_FLAGS"),
                           .tpu_flags = text("LIBTPU_INIT_ARGS"),
                           .gpu_preallocates = text("XLA_PYTHON_CLIENT_PREALLOCATE"),
                           .gpu_fraction = text("XLA_PYTHON_CLIENT_MEM_FRACTION")};
  platform.emulator_host = text("STORAGE_EMULATOR_HOST");
  platform.authorities = read_authorities(text);
  platform.hub = read_hub(text, environment);
  platform.mlflow = {.tracking_uri = text("MLFLOW_TRACKING_URI"),
                     .token = text("MLFLOW_TRACKING_TOKEN"),
                     .username = text("MLFLOW_TRACKING_USERNAME"),
                     .password = text("MLFLOW_TRACKING_PASSWORD"),
                     .experiment_name = text("MLFLOW_EXPERIMENT_NAME"),
                     .experiment_id = text("MLFLOW_EXPERIMENT_ID"),
                     .run_id = text("MLFLOW_RUN_ID"),
                     .run_name = text("MLFLOW_RUN_NAME")};
  platform.cluster = cluster_of({.rank = text("RANK"),
                                 .world_size = text("WORLD_SIZE"),
                                 .master_addr = text("MASTER_ADDR"),
                                 .master_port = text("MASTER_PORT"),
                                 .local_rank = text("LOCAL_RANK"),
                                 .torchrun_id = text("TORCHELASTIC_RUN_ID"),
                                 .node_rank = text("PET_NODE_RANK"),
                                 .nodes = text("PET_NNODES"),
                                 .node_master_addr = text("PET_MASTER_ADDR"),
                                 .node_master_port = text("PET_MASTER_PORT"),
                                 .mpi_rank = text("OMPI_COMM_WORLD_RANK"),
                                 .mpi_size = text("OMPI_COMM_WORLD_SIZE"),
                                 .completion_index = text("JOB_COMPLETION_INDEX"),
                                 .tf_config = text("TF_CONFIG"),
                                 .cluster_spec = text("CLUSTER_SPEC")});
  platform.cluster.secret = text("BERTH_CLUSTER_SECRET");
  platform.home = text("HOME");
  platform.credentials = read_credentials(text);
  const std::string columns = text("COLUMNS");
  int number = 0;
  const char* end = columns.data() + columns.size();
  if (std::from_chars(columns.data(), end, number).ptr == end && number > 0) {
    platform.columns = number;
  }
  return platform;
}

namespace {

std::optional<int64_t> number_in(const std::string& text) {
  int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (text.empty() || read.ec != std::errc() || read.ptr != end || number < 0) return std::nullopt;
  return number;
}

// Splits "host:port", where the host may be an IPv6 address in brackets.
void set_leader(const std::string& address, ClusterPlace& place) {
  const size_t colon = address.rfind(':');
  place.leader_host = address.substr(0, colon);
  if (place.leader_host.starts_with('[') && place.leader_host.ends_with(']')) {
    place.leader_host = place.leader_host.substr(1, place.leader_host.size() - 2);
  }
  if (colon != std::string::npos) place.leader_port = number_in(address.substr(colon + 1));
}

// The addresses of one role; empty where the cluster has none.
std::vector<std::string> addresses_of(const JsonObject& cluster, const char* role) {
  std::vector<std::string> addresses;
  for (const Json& address : cluster.values(role)) {
    if (address.is_string()) addresses.push_back(address.get<std::string>());
  }
  return addresses;
}

int64_t index_of(const JsonObject& task) {
  if (const auto number = task.integer("index")) return *number;
  return number_in(task.text("index").value_or("")).value_or(0);
}

// The cluster that TF_CONFIG (TensorFlow) or CLUSTER_SPEC (Vertex AI) describes in JSON. The chief,
// called "master" or "workerpool0" in some, has rank 0, and the workers follow. All fields are
// empty if the text has neither form.
ClusterPlace cluster_of_json(const std::string& json) {
  const Json parsed = parse_json(json);
  const JsonObject object(parsed), cluster = object.within("cluster"), task = object.within("task");
  const auto type = task.text("type");
  if (!cluster.is_there() || !type) return {};
  ClusterPlace place;
  int64_t size = 0;
  for (const char* const role : {"chief", "master", "workerpool0", "worker", "workerpool1"}) {
    const std::vector<std::string> addresses = addresses_of(cluster, role);
    if (addresses.empty()) continue;
    if (size == 0) set_leader(addresses.front(), place);
    if (*type == role) place.rank = size + index_of(task);
    size += static_cast<int64_t>(addresses.size());
  }
  if (size == 0) return {};
  if (!place.rank) {
    place.other_role = *type;
    return place;
  }
  place.size = size;
  return place;
}

const std::string& either(const std::string& first, const std::string& second) {
  return first.empty() ? second : first;
}

// Whether these are two numbers of workers, MIN:MAX, of which more than one may train.
bool is_range(const std::string& text) {
  const size_t colon = std::min(text.find(':'), text.size());
  const auto most = number_in(text.substr(std::min(colon + 1, text.size())));
  return number_in(text.substr(0, colon)) && most.value_or(1) > 1;
}

}  // namespace

ClusterPlace cluster_of(const LauncherVariables& variables) {
  ClusterPlace place;
  for (const std::string& json : {variables.tf_config, variables.cluster_spec}) {
    place = cluster_of_json(json);
    if (place.size || !place.other_role.empty()) return place;
  }
  const auto take = [&](const std::string& rank, const std::string& size, const std::string& host,
                        const std::string& port) {
    const auto ranks = number_in(size);
    if (!number_in(rank) || !ranks || *ranks < 1) return false;
    place = {.rank = number_in(rank),
             .size = ranks,
             .leader_host = host,
             .leader_port = number_in(port)};
    return true;
  };
  const LauncherVariables& v = variables;
  const auto take_node = [&] {
    return take(v.node_rank, v.nodes, either(v.node_master_addr, v.master_addr),
                either(v.node_master_port, v.master_port));
  };
  const bool is_process = !v.local_rank.empty() || !v.torchrun_id.empty();
  if (!is_process && (v.rank.empty() || v.rank == v.node_rank) && take_node()) return place;
  if (take(v.rank, v.world_size, v.master_addr, v.master_port)) return place;
  if (take_node()) return place;
  if (take(v.mpi_rank, v.mpi_size, v.master_addr, v.master_port)) return place;
  return {.rank = number_in(v.completion_index),
          .size = {},
          .leader_host = v.master_addr,
          .leader_port = number_in(v.master_port),
          .size_range = is_range(v.nodes) ? v.nodes : ""};
}

}  // namespace berth
