#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "entrypoint/flags/flag_table.h"
#include "entrypoint/flags/flags.h"
#include "entrypoint/job/earlier_job.h"
#include "storage/base/json.h"
#include "trainer/inputs/job_record.h"

namespace berth {
namespace {

void set(CommandLine& line, std::string_view name, const std::string& value) {
  for (const Flag& flag : flag_table()) {
    if (flag.name == name) flag.value.set(line, value);
  }
}

// The record that this program makes where it goes on with the job of a job.json, by the same
// flags.
JobRecord record_that_continues(const Json& job) {
  CommandLine line;
  set(line, "precision", "fp32");  // a job without them is older than these flags
  set(line, "line-by-line", "true");
  for (const auto& [name, value] : job["settings"].items()) {
    if (const std::string text = value; !text.empty()) set(line, name, text);
  }
  JobRecord record{.settings = settings_table(line.settings),
                   .labels = job["labels"].get<std::vector<std::string>>(),
                   .task = job.value("task", ""),
                   .max_seq_length = job.value("max_seq_length", int64_t{0})};
  for (const Json& source : job["sources"]) {
    const std::string crc = source["crc32c"];
    Source read{.role = source["role"], .uri = source["uri"], .checksum = {}};
    read.checksum.size = source["size"];
    read.checksum.crc = static_cast<uint32_t>(std::strtoul(crc.c_str(), nullptr, 16));
    record.sources.push_back(std::move(read));
  }
  if (job.contains("reading")) {
    record.reading.rules = job["reading"]["rules"].get<std::vector<std::string>>();
    record.reading.tokenizer = job["reading"]["tokenizer"].get<std::vector<std::string>>();
  }
  return record;
}

// Jobs of this version and of earlier ones, and the identities by which their checkpoints name
// them. A new flag, or another part of a flag in a job, must not change them: no job could be
// resumed.
TEST(JobIdentity, StaysAsCheckpointsHaveIt) {
  std::ifstream file(BERTH_TESTDATA "/job_records.jsonl");
  int jobs = 0;
  for (std::string text; std::getline(file, text); ++jobs) {
    const Json line = parse_json(text);
    const std::string name = line["name"], json = to_text(line["job"]);
    const std::string identity = line["identity"], of_length = line["identity_of_length"],
                      common = line["common_settings"];
    const JobRecord now = record_that_continues(line["job"]);
    EXPECT_NO_THROW(check_settings_match(json, as_known_to(json, now, unnamed_settings()))) << name;
    const JobRecord known = as_known_to(json, now, unnamed_settings());
    EXPECT_EQ(job_identity(known), identity) << name;
    EXPECT_EQ(job_identity(known, IdentityOf::kOneLength), of_length) << name;
    EXPECT_EQ(common_settings(known.settings), common) << name;
  }
  EXPECT_GE(jobs, 30);
}

}  // namespace
}  // namespace berth
