#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace berth {

// The rank of this process among the processes that train together. An unknown value is empty.
struct ClusterPlace {
  std::optional<int64_t> rank{}, size{};
  std::string leader_host{};             // of the worker of rank 0
  std::optional<int64_t> leader_port{};  // on which it listens
  // The role of the process, if it does not train: "ps" or "evaluator".
  std::string other_role{};
  std::string secret{};  // BERTH_CLUSTER_SECRET: the secret that only the workers know
};

// The cluster that TF_CONFIG (TensorFlow) or CLUSTER_SPEC (Vertex AI) describes in JSON. The chief,
// called "master" or "workerpool0" in some, has rank 0, and the workers follow. All fields are
// empty if the text has neither form.
ClusterPlace cluster_of_json(const std::string& json);

// The variables of launchers: RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT of PyTorch and
// Kubeflow; PET_NODE_RANK, PET_NNODES, PET_MASTER_ADDR and PET_MASTER_PORT of torchrun.
// OMPI_COMM_WORLD_RANK and ..._SIZE of Open MPI. JOB_COMPLETION_INDEX of an Indexed Job of
// Kubernetes, which gives no size. One berth process is one node: PET_NPROC_PER_NODE counts CPUs
// and is ignored.
struct LauncherVariables {
  std::string rank{}, world_size{}, master_addr{}, master_port{};
  std::string node_rank{}, nodes{}, node_master_addr{}, node_master_port{};
  std::string mpi_rank{}, mpi_size{};
  std::string completion_index{};
  std::string tf_config{}, cluster_spec{};
};
ClusterPlace cluster_of(const LauncherVariables& variables);

}  // namespace berth
