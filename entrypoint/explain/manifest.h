#pragma once

#include <span>
#include <string>
#include <vector>

#include "entrypoint/explain/explain.h"
#include "entrypoint/explain/launch.h"
#include "entrypoint/explain/shell_text.h"

namespace berth {

// A container or a command of a manifest, and how it starts a training script.
struct ManifestLaunch {
  ShellCommand command;
  Launch launch;
  bool is_text = false;  // a shell reads the command, which is no list of a container
};

// Where the words name a manifest (`job.yaml`), or are a line of `gcloud ai custom-jobs create` or
// `gcloud ai-platform jobs submit training`, what it starts: the
// containers of a Job, a Pod or another workload of Kubernetes, of Kubeflow or of Vertex AI, or the
// services of Docker Compose. Also the commands of a RayJob, of a task of SkyPilot, of a pipeline
// of DVC or of a workflow of GitHub Actions. Their GPUs and replicas count. Empty: it is neither.
// Throws kUsage on a manifest that cannot be read, or that starts no training script.
std::vector<ManifestLaunch> find_manifest_jobs(std::span<const std::string> words, bool is_text,
                                               const ExplainOptions& options);

// Throws kUsage with what a configuration of AutoTrain is in berth.
[[noreturn]] void refuse_autotrain(const std::string& where);

// The first line of an explanation as the args of a container in YAML; empty: there is no line.
std::string manifest_args(const std::string& explanation);

}  // namespace berth
