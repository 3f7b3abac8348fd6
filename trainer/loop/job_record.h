#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trainer/loop/load_data.h"

namespace berth {

// What job.json says: what was asked for, what was read, and what computed it.
struct JobRecord {
  std::vector<std::pair<std::string, std::string>> settings{};  // canonical flag name, value
  std::vector<Source> sources{};
  std::vector<std::string> labels{};
  std::string task{};          // its name, given or deduced
  int64_t max_seq_length = 0;  // the setting's, or a meta data file's; 0: not known
  std::string version{}, machine{}, kernels{};
};

std::string to_json(const JobRecord& record);

// What tells a job's checkpoints from those of another: of its settings and inputs what changes the
// result. A short text.
std::string job_identity(const JobRecord& record);

// Throws kIncompatible, naming each difference, when a job that left `existing_json` would not go
// on as this one: another value of a setting that changes the result. Where to write, how often to
// save or log and how many threads to use do not count.
void check_settings_match(std::string_view existing_json, const JobRecord& record);

// The same for the inputs' bytes: each source by role and size and CRC, wherever it lies; the
// files of one table in the same order.
void check_sources_match(std::string_view existing_json, const JobRecord& record);

}  // namespace berth
