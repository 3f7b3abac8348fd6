#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "entrypoint/report/html/job_history.h"
#include "trainer/inputs/job_record.h"

namespace berth {

// A job that is compared with others, from the files of its directory.
struct ComparedJob {
  std::string name{};  // its directory
  SettingsTable settings{};
  std::string task{}, version{}, machine{};
  // The checksums of the files that it was trained on, as one text, and by what the rows are known
  // that it was evaluated on.
  std::string training_data{}, evaluation_data{};
  // Of metrics.json; nullopt: the job has not finished.
  std::optional<std::map<std::string, double>> metrics{};
  std::optional<double> loss{}, examples_per_second{};
  JobHistory history{};  // empty: the directory has no report.html
};

inline constexpr size_t kMostCompared = 48;

// The page that compares at most kMostCompared jobs: a table of their results, their curves in the
// same plots, and the settings in which they differ.
std::string compare_page(const std::vector<ComparedJob>& jobs, double written_s);

}  // namespace berth
