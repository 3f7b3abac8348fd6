#pragma once

#include <functional>
#include <optional>
#include <string>

#include "storage/google/credentials.h"

namespace berth {

// What hyperparameter tuning tells a trial.
struct Tuning {
  // Its number: CLOUD_ML_TRIAL_ID, or task.trial of TF_CONFIG or CLUSTER_SPEC; empty: there is no
  // tuning. Letters, digits, '-' and '_' only.
  std::string trial{};
  std::string metric_file{}, metric_tag{};  // CLOUD_ML_HP_METRIC_FILE, CLOUD_ML_HP_METRIC_TAG
};

// What the environment says, read once at start. A flag outranks each of these.
struct Platform {
  // Vertex AI, URIs that end in "/": AIP_MODEL_DIR, AIP_CHECKPOINT_DIR, AIP_TENSORBOARD_LOG_DIR.
  std::string model_dir, checkpoint_dir, tensorboard_log_dir;
  // Of a managed data set, patterns: AIP_TRAINING_DATA_URI and its like.
  std::string training_data, validation_data, test_data;
  std::string term;  // TERM
  Tuning tuning;
  // GOOGLE_APPLICATION_CREDENTIALS, CLOUDSDK_CONFIG or HOME, GCE_METADATA_HOST, NO_GCE_CHECK.
  CredentialOptions credentials;
  std::string emulator_host;   // STORAGE_EMULATOR_HOST
  std::optional<int> columns;  // COLUMNS, where it is a positive number
};

// Looks up one variable; nullptr when it is not set. std::getenv but in tests.
using Environment = std::function<const char*(const char* name)>;

// The only caller of getenv.
Platform read_platform();
Platform read_platform(const Environment& environment);

}  // namespace berth
