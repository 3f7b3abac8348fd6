#pragma once

#include <span>
#include <string>
#include <vector>

#include "entrypoint/explain/explain.h"
#include "entrypoint/explain/launch.h"
#include "entrypoint/explain/shell_text.h"

namespace berth {

// A container of a manifest, and how it starts a training script.
struct ManifestLaunch {
  ShellCommand command;
  Launch launch;
};

// Where the words name a manifest (`job.yaml`), or are a line of `gcloud ai custom-jobs create` or
// `gcloud ai-platform jobs submit training`, the containers that it starts: of a Job, a Pod or
// another workload of Kubernetes, of Kubeflow's PyTorchJob, or of a CustomJob of Vertex AI. Their
// GPUs and replicas count. Empty: it is neither.
// Throws kUsage on a manifest that cannot be read, or that starts no training script.
std::vector<ManifestLaunch> find_manifest_jobs(std::span<const std::string> words, bool is_text,
                                               const ExplainOptions& options);

// The first line of an explanation as the args of a container in YAML; empty: there is no line.
std::string manifest_args(const std::string& explanation);

}  // namespace berth
