#include "entrypoint/modes/comparison.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "entrypoint/report/standard_output.h"
#include "storage/base/clock.h"
#include "storage/base/counted.h"
#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/whole_file.h"
#include "trainer/loop/job_directory.h"

namespace berth {
namespace {

std::string member_text(const OrderedJson& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

void read_record(const std::string& text, ComparedJob& job) {
  const OrderedJson record = parse_ordered_json(text);
  const auto settings = record.is_object() ? record.find("settings") : record.end();
  if (settings == record.end() || !settings->is_object()) {
    throw Error(Code::kIncompatible, "is not a job.json of berth");
  }
  for (const auto& [name, value] : settings->items()) {
    if (value.is_string())
      job.settings.push_back({.name = name, .value = value.get<std::string>()});
  }
  job.task = member_text(record, "task");
  job.version = member_text(record, "version");
  job.machine = member_text(record, "machine");
  const auto sources = record.find("sources");
  if (sources == record.end() || !sources->is_array()) return;
  for (const OrderedJson& source : *sources) {
    if (!source.is_object() || member_text(source, "role") != "train") continue;
    job.training_data += (job.training_data.empty() ? "" : " ") + member_text(source, "crc32c");
  }
}

// Of a finished job. A file that says something else leaves the job unfinished.
void read_metrics(const std::string& text, ComparedJob& job) {
  const Json all = parse_json(text);
  if (!all.is_object() || !all.contains("eval") || !all["eval"].is_object()) {
    if (all.is_object() && all.contains("finished")) job.metrics.emplace();
    return;
  }
  job.metrics.emplace();
  for (const auto& [name, value] : all["eval"].items()) {
    if (!value.is_number() || name == "examples" || name == "majority_rate") continue;
    if (name == "loss") {
      job.loss = value.get<double>();
    } else {
      (*job.metrics)[name] = value.get<double>();
    }
  }
  const Json::json_pointer rate("/train/examples_per_second");
  if (all.contains(rate) && all.at(rate).is_number()) {
    job.examples_per_second = all.at(rate).get<double>();
  }
}

}  // namespace

ComparedJob compared_job(Storage& storage, const std::string& name) {
  const JobDirectory directory(Uri::parse(name));
  ComparedJob job{.name = directory.root().to_string()};
  const std::optional<std::string> record = read_text(storage, directory.record());
  if (!record) {
    throw Error(Code::kNotFound, "there is no job.json", directory.root().to_string(),
                "name the directories of jobs, each as --job-dir names it");
  }
  try {
    read_record(*record, job);
  } catch (const Error& error) {
    throw error.at(directory.record().to_string());
  }
  if (const auto metrics = read_text(storage, directory.metrics())) read_metrics(*metrics, job);
  if (const auto page = read_text(storage, directory.report())) {
    job.history = JobHistory::from_page(*page);
  }
  return job;
}

void run_comparison(Job& job) {
  const ToolOptions& tool = job.command_line.tool;
  std::vector<std::string> names = {tool.input};
  names.insert(names.end(), tool.further_inputs.begin(), tool.further_inputs.end());
  if (names.size() > kMostCompared) {
    throw Error(Code::kUsage, cat("there are ", names.size(), " jobs"), "--mode report",
                cat("a page compares at most ", kMostCompared));
  }
  std::vector<ComparedJob> jobs;
  for (const std::string& name : names) {
    job.stop_point();
    jobs.push_back(compared_job(job.storage, name));
  }
  const std::string page = compare_page(jobs, wall_clock_s());
  if (tool.report_file == "-") {
    StandardOutput output;
    output.write(as_bytes(page));
    output.close();
    return;
  }
  const Uri file = Uri::parse(tool.report_file);
  write_text(job.storage, file, page);
  log_info(cat(file.to_string(), " compares ", counted(static_cast<int64_t>(jobs.size()), "job")));
}

}  // namespace berth
