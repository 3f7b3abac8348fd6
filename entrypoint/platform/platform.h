#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "storage/google/credentials.h"
#include "storage/http/http_client.h"
#include "storage/hub/hub_requests.h"

namespace berth {

// The rank of this process among the processes that train together. An unknown value is empty.
struct ClusterPlace {
  std::optional<int64_t> rank{}, size{};
  std::string leader_host{};             // of the worker of rank 0
  std::optional<int64_t> leader_port{};  // on which it listens
  // The role of the process, if it does not train: "ps" or "evaluator".
  std::string other_role{};
  std::string size_range{};  // "MIN:MAX": the launcher fixes neither rank nor size
  std::string secret{};      // BERTH_CLUSTER_SECRET: the secret that only the workers know
};

// The variables of launchers: RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT of PyTorch and
// Kubeflow; PET_NODE_RANK, PET_NNODES, PET_MASTER_ADDR and PET_MASTER_PORT of torchrun.
// OMPI_COMM_WORLD_RANK and ..._SIZE of Open MPI. JOB_COMPLETION_INDEX of an Indexed Job of
// Kubernetes, which gives no size. One berth process is one node: PET_NPROC_PER_NODE counts CPUs
// and is ignored. A PyTorchJob with nprocPerNode multiplies WORLD_SIZE by it, and RANK is the
// node's, so PET_NNODES counts. LOCAL_RANK or TORCHELASTIC_RUN_ID is there where torchrun started
// this process; RANK and WORLD_SIZE are then right.
struct LauncherVariables {
  std::string rank{}, world_size{}, master_addr{}, master_port{};
  std::string local_rank{}, torchrun_id{};
  std::string node_rank{}, nodes{}, node_master_addr{}, node_master_port{};
  std::string mpi_rank{}, mpi_size{};
  std::string completion_index{};
  std::string tf_config{}, cluster_spec{};
};
ClusterPlace cluster_of(const LauncherVariables& variables);

// The settings of a trial from a service for hyperparameter tuning.
struct Tuning {
  // The number of the trial: CLOUD_ML_TRIAL_ID, or task.trial of TF_CONFIG or CLUSTER_SPEC. Empty:
  // nothing is being tuned. It holds only letters, digits, '-' and '_', for it becomes part of
  // paths.
  std::string trial{};
  std::string metric_file{}, metric_tag{};  // CLOUD_ML_HP_METRIC_FILE, CLOUD_ML_HP_METRIC_TAG
};

// The environment's settings for accelerators and the plugins that drive them.
struct AcceleratorEnvironment {
  std::string tpu_library{};      // TPU_LIBRARY_PATH, libtpu's own variable: the path of libtpu.so
  std::string named_libraries{};  // JAX's PJRT_NAMES_AND_LIBRARY_PATHS: "tpu:/a.so,cuda:/b.so"
  std::string tpu_hosts{};        // TPU_WORKER_HOSTNAMES: the hosts of a TPU slice, with commas
  // TPU_SKIP_MDS_QUERY is set: libtpu does not ask the metadata server, so that it also starts on
  // machines that do not look like Google's.
  bool skips_metadata = false;
  std::string xla_flags{};  // XLA_FLAGS, for every compiler of XLA
  std::string tpu_flags{};  // LIBTPU_INIT_ARGS, for libtpu's compiler
  // JAX's variables for the memory of GPUs; gpu_memory_of() reads them.
  std::string gpu_preallocates{};  // XLA_PYTHON_CLIENT_PREALLOCATE
  std::string gpu_fraction{};      // XLA_PYTHON_CLIENT_MEM_FRACTION
};

// Where the metrics of a job go besides its directory, by the variables of the mlflow package.
struct MlflowOptions {
  std::string tracking_uri{};                      // MLFLOW_TRACKING_URI; empty: nowhere
  std::string token{}, username{}, password{};     // MLFLOW_TRACKING_TOKEN, ..._USERNAME, ...
  std::string experiment_name{}, experiment_id{};  // MLFLOW_EXPERIMENT_NAME, ..._ID
  std::string run_id{}, run_name{};                // MLFLOW_RUN_ID, MLFLOW_RUN_NAME
};

// The settings in the environment. They are read once at the start, and every flag has priority
// over them.
struct Platform {
  // The directories of Vertex AI, URIs that end in "/": AIP_MODEL_DIR, AIP_CHECKPOINT_DIR,
  // AIP_TENSORBOARD_LOG_DIR.
  std::string model_dir, checkpoint_dir, tensorboard_log_dir;
  // The files of a managed data set, as patterns: AIP_TRAINING_DATA_URI, AIP_VALIDATION_DATA_URI,
  // AIP_TEST_DATA_URI.
  std::string training_data, validation_data, test_data;
  std::string term;             // TERM
  std::string home;             // HOME
  std::string instruction_set;  // BERTH_INSTRUCTION_SET, for tests: as the flag of that name
  Tuning tuning;
  AcceleratorEnvironment accelerators;
  // GOOGLE_APPLICATION_CREDENTIALS, CLOUDSDK_CONFIG or HOME, GCE_METADATA_HOST, NO_GCE_CHECK.
  CredentialOptions credentials;
  std::string emulator_host;  // STORAGE_EMULATOR_HOST
  // SSL_CERT_FILE, SSL_CERT_DIR, CURL_CA_BUNDLE or REQUESTS_CA_BUNDLE.
  CertificateAuthorities authorities;
  HubOptions hub;  // HF_ENDPOINT, HF_TOKEN, HF_HOME and others of huggingface_hub
  MlflowOptions mlflow;
  ClusterPlace cluster;        // by TF_CONFIG, CLUSTER_SPEC or the variables of a launcher
  std::optional<int> columns;  // COLUMNS, where it is a positive number
};

// Looks up one variable; nullptr when it is not set. It is std::getenv, except in tests.
using Environment = std::function<const char*(const char* name)>;

// Reads the environment. No other function calls getenv.
Platform read_platform();
Platform read_platform(const Environment& environment);

}  // namespace berth
