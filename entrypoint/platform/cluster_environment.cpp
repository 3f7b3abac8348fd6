#include "entrypoint/platform/cluster_environment.h"

#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "storage/base/json.h"

namespace berth {
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
std::vector<std::string> addresses_of(const Json& cluster, const char* role) {
  std::vector<std::string> addresses;
  if (!cluster.contains(role) || !cluster[role].is_array()) return addresses;
  for (const Json& address : cluster[role]) {
    if (address.is_string()) addresses.push_back(address.get<std::string>());
  }
  return addresses;
}

int64_t index_of(const Json& task) {
  if (!task.contains("index")) return 0;
  if (task["index"].is_number_integer()) return task["index"].get<int64_t>();
  return task["index"].is_string() ? number_in(task["index"].get<std::string>()).value_or(0) : 0;
}

}  // namespace

ClusterPlace cluster_of_json(const std::string& json) {
  const Json object = parse_json(json);
  if (!object.is_object() || !object.contains("cluster") || !object["cluster"].is_object() ||
      !object.contains("task") || !object["task"].is_object()) {
    return {};
  }
  const Json& task = object["task"];
  if (!task.contains("type") || !task["type"].is_string()) return {};
  const auto type = task["type"].get<std::string>();
  ClusterPlace place;
  int64_t size = 0;
  for (const char* const role : {"chief", "master", "workerpool0", "worker", "workerpool1"}) {
    const std::vector<std::string> addresses = addresses_of(object["cluster"], role);
    if (addresses.empty()) continue;
    if (size == 0) set_leader(addresses.front(), place);
    if (type == role) place.rank = size + index_of(task);
    size += static_cast<int64_t>(addresses.size());
  }
  if (size == 0) return {};
  if (!place.rank) {
    place.other_role = type;
    return place;
  }
  place.size = size;
  return place;
}

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
  if (take(v.rank, v.world_size, v.master_addr, v.master_port)) return place;
  if (take(v.node_rank, v.nodes, v.node_master_addr, v.node_master_port)) return place;
  if (take(v.mpi_rank, v.mpi_size, v.master_addr, v.master_port)) return place;
  return {.rank = number_in(v.completion_index),
          .size = {},
          .leader_host = v.master_addr,
          .leader_port = number_in(v.master_port)};
}

}  // namespace berth
