#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/storage.h"
#include "trainer/loop/job_directory.h"
#include "trainer/loop/options.h"
#include "trainer/model/lora.h"
#include "trainer/model/task.h"

namespace berth {

// What the job.json in a job's directory says. Throws kIncompatible where it is none.
class EarlierJob {
 public:
  // nullopt: no job was there.
  static std::optional<EarlierJob> find(Storage& storage, const Uri& directory);
  EarlierJob(const Uri& directory, std::string_view job_json);

  const Uri& directory() const { return directory_.root(); }
  std::string setting(std::string_view name) const;  // empty: an older version did not know it
  const std::vector<std::string>& labels() const { return labels_; }
  LoraOptions lora() const;  // the adapters that its checkpoints hold
  Task task() const;

  Uri model() const;        // where its finished model goes
  Uri checkpoints() const;  // where its checkpoints are

  // `options` with what the job began with, where no flag names another; its parameters are not
  // wanted.
  ModelOptions first_model(ModelOptions options) const;

 private:
  Uri place(std::string_view setting, const Uri& part) const;
  double number(std::string_view name) const;

  JobDirectory directory_;
  std::map<std::string, std::string, std::less<>> settings_;
  std::vector<std::string> labels_;
  std::string task_;
};

}  // namespace berth
