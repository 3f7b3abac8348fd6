#include "trainer/loop/job_record.h"

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"

namespace berth {
namespace {

// Settings that a resumed job may change: they do not touch the weights.
constexpr std::array<std::string_view, 18> kFree = {
    "job-dir",          "export-dir",       "checkpoint-dir", "summary-dir",   "save-steps",
    "save-total-limit", "threads",          "logging-steps",  "eval-steps",    "eval-batch-size",
    "log-format",       "log-level",        "mode",           "reuse-job-dir", "predict-data-file",
    "instruction-set",  "hypertune-metric", "recompute"};

OrderedJson parse(std::string_view json) {
  OrderedJson object = parse_ordered_json(json);
  if (!object.is_object() || !object.contains("settings") || !object["settings"].is_object() ||
      !object.contains("sources") || !object["sources"].is_array()) {
    throw Error(Code::kIncompatible, "is not a job.json of berth", "",
                "use another --job-dir, or remove it");
  }
  return object;
}

[[noreturn]] void refuse(const std::string& differences) {
  throw Error(Code::kIncompatible, "the job directory belongs to another job: " + differences, "",
              "use another --job-dir, or the same command to go on");
}

OrderedJson source_object(const Source& source) {
  return {{"role", source.role},
          {"uri", source.uri},
          {"size", source.checksum.size},
          {"crc32c", crc_text(source.checksum.crc)}};
}

// What identifies a source's bytes. Of any JSON value: a damaged file's identifies nothing.
std::string identity(const OrderedJson& source) {
  std::string text;
  for (const char* key : {"role", "size", "crc32c"}) {
    if (source.is_object() && source.contains(key)) text += to_text(source[key]);
    text += " ";
  }
  return text;
}

// In any order, but for the files of one table: their order is that of its rows.
std::vector<std::string> identities(const OrderedJson& sources) {
  std::vector<std::string> found;
  std::map<std::string, int> files;
  for (const OrderedJson& source : sources) {
    const std::string role =
        source.is_object() && source.contains("role") ? to_text(source["role"]) : "";
    found.push_back(identity(source));
    if (role != "\"model\"") found.back() += std::to_string(files[role]++);
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

std::string to_json(const JobRecord& record) {
  OrderedJson settings = OrderedJson::object(), sources = OrderedJson::array();
  for (const auto& [name, value] : record.settings) settings[name] = value;
  for (const Source& source : record.sources) sources.push_back(source_object(source));
  const OrderedJson object = {{"format", 1},
                              {"version", record.version},
                              {"settings", settings},
                              {"sources", sources},
                              {"labels", record.labels},
                              {"task", record.task},
                              {"machine", record.machine},
                              {"kernels", record.kernels}};
  return to_text(object, 2) + "\n";
}

void check_settings_match(std::string_view existing_json, const JobRecord& record) {
  const OrderedJson existing = parse(existing_json);
  const OrderedJson& before = existing["settings"];
  std::string differences;
  for (const auto& [name, value] : record.settings) {
    if (std::find(kFree.begin(), kFree.end(), name) != kFree.end()) continue;
    const std::string old = before.contains(name) && before[name].is_string() ? before[name] : "";
    if (old == value) continue;
    differences += (differences.empty() ? "" : ", ") +
                   cat("--", name, " was ", quoted(old), " and is now ", quoted(value));
  }
  if (!differences.empty()) refuse(differences);
}

void check_sources_match(std::string_view existing_json, const JobRecord& record) {
  OrderedJson now = OrderedJson::array();
  for (const Source& source : record.sources) now.push_back(source_object(source));
  if (identities(parse(existing_json)["sources"]) != identities(now)) {
    refuse("its input files had other contents");
  }
}

}  // namespace berth
