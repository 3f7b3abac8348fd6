#include "entrypoint/modes/tools.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "entrypoint/inspect/inspect.h"
#include "entrypoint/job/preflight.h"
#include "entrypoint/modes/modes.h"
#include "entrypoint/platform/this_process.h"
#include "entrypoint/report/heartbeat.h"
#include "entrypoint/report/standard_streams.h"
#include "storage/base/clock.h"
#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/expand.h"
#include "storage/google/timestamp.h"
#include "storage/whole_file.h"
#include "trainer/inputs/job_directory.h"

namespace berth {
namespace {

Inspection look_into(const Job& job, const std::string& path) {
  try {
    return inspect(job.storage, path, job.command_line.settings.data.text_form);
  } catch (const Error& error) {
    throw error.in(Uri::parse(path).to_string());
  }
}

}  // namespace

void run_inspection(Job& job) {
  const ToolOptions& tool = job.command_line.tool;
  StandardOutput output;
  const auto show = [&](const std::string& path) {
    const Inspection inspection = look_into(job, path);
    output.write(as_bytes(tool.json ? printable_json(inspection.json) + "\n"
                                    : printable_lines(inspection.text)));
  };
  show(tool.input);
  for (const std::string& path : tool.further_inputs) {
    if (!tool.json) output.write(as_bytes("\n"));
    show(path);
  }
  output.close();
}

namespace {

constexpr size_t kPieceBytes = size_t{1} << 20;

// The path of `file` below what `place` names: a folder, an archive, or the part of a pattern
// before its first wildcard.
std::string path_below(const Uri& place, const Uri& file) {
  if (file == place) return file.file_name();
  const std::string inside = (place / "x").path();
  const std::string folder = inside.substr(0, inside.size() - 1);
  if (file.path().starts_with(folder)) return file.path().substr(folder.size());
  const size_t slash = place.path().rfind('/', place.path().find_first_of("*?["));
  return slash == std::string::npos ? file.path() : file.path().substr(slash + 1);
}

// Objects may have any name. Only a path of plain parts stays in the directory that it is put into.
void require_inside(const std::string& name, const Uri& file) {
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('/', begin), name.size());
    const std::string part = name.substr(begin, end - begin);
    if (part.empty() || part == "." || part == "..") {
      throw Error(Code::kBadData, "the name is no path of a file", file.to_string(),
                  "give the file another name, or name it alone");
    }
    begin = end + 1;
  }
}

uint64_t copy(const Job& job, const Uri& from, const Uri& to, std::vector<std::byte>& piece) {
  const std::optional<Stat> known = job.storage.stat(from);
  WriteOptions options;
  if (known) options.size_hint = known->size;
  uint64_t size_bytes = 0;
  store_object(
      job.storage, to,
      [&](ByteSink& sink) {
        const auto source = job.storage.open(from, {.known = known ? &*known : nullptr});
        size_bytes = 0;
        while (const size_t count = source->read(piece)) {
          job.stop_point();
          sink.write(Bytes(piece.data(), count));
          size_bytes += count;
        }
      },
      options);
  return size_bytes;
}

}  // namespace

std::vector<FileToFetch> files_to_fetch(Storage& storage, std::span<const std::string> places) {
  std::vector<FileToFetch> files;
  std::set<std::string> names;
  for (const std::string& text : places) {
    const Uri place = Uri::parse(text);
    for (const Uri& file : expand(storage, place, [](std::string_view) { return true; })) {
      const std::string name = path_below(place, file);
      require_inside(name, file);
      if (!names.insert(name).second) {
        throw Error(Code::kUsage, cat("there are two files ", quoted(name)), file.to_string(),
                    "fetch them into two directories");
      }
      files.push_back({file, name});
    }
  }
  return files;
}

void run_fetch(Job& job) {
  const ToolOptions& tool = job.command_line.tool;
  const Settings& settings = job.command_line.settings;
  std::vector<std::string> places = {tool.input};
  places.insert(places.end(), tool.further_inputs.begin(), tool.further_inputs.end());
  const std::vector<FileToFetch> files = files_to_fetch(job.storage, places);
  preflight(job.storage, settings);
  const Uri directory = Uri::parse(settings.output.export_dir);
  std::vector<std::byte> piece(kPieceBytes);
  uint64_t size_bytes = 0;
  for (const FileToFetch& file : files) {
    size_bytes += copy(job, file.from, directory / file.name, piece);
  }
  log_info(cat("fetched ", counted(files.size(), "file"), " of ", counted(size_bytes, "byte"),
               " to ", directory.to_string()));
}

namespace {

void read_record(const std::string& text, ComparedJob& job) {
  const OrderedJson ordered = parse_ordered_json(text);  // the settings in the order of the file
  const auto settings = ordered.is_object() ? ordered.find("settings") : ordered.end();
  if (settings == ordered.end() || !settings->is_object()) {
    throw Error(Code::kIncompatible, "is not a job.json of berth");
  }
  for (const auto& [name, value] : settings->items()) {
    if (value.is_string())
      job.settings.push_back({.name = name, .value = value.get<std::string>()});
  }
  const Json parsed = parse_json(text);
  const JsonObject record(parsed);
  job.task = record.text("task").value_or("");
  job.version = record.text("version").value_or("");
  job.machine = record.text("machine").value_or("");
  for (const Json& value : record.values("sources")) {
    const JsonObject source(value);
    const std::string role = source.text("role").value_or("");
    if (role == "model") continue;
    std::string& data = role == "train" ? job.training_data : job.evaluation_data;
    data += (data.empty() ? "" : " ") + source.text("crc32c").value_or("");
  }
  if (!job.evaluation_data.empty()) return;
  const auto split = std::ranges::find(job.settings, "validation-split", &Setting::name);
  if (split == job.settings.end()) return;
  job.evaluation_data = cat(split->value, " of ", job.training_data);
}

// Of a finished job. A file that says something else leaves the job unfinished.
void read_metrics(const std::string& text, ComparedJob& job) {
  const Json parsed = parse_json(text);
  const JsonObject all(parsed), eval = all.within("eval");
  if (!eval.is_there()) {
    if (all.find("finished") != nullptr) job.metrics.emplace();
    return;
  }
  job.metrics = eval.all_numbers();
  for (const char* other : {"examples", "majority_rate"}) job.metrics->erase(other);
  if (const auto loss = job.metrics->extract("loss")) job.loss = loss.mapped();
  job.examples_per_second = all.within("train").number("examples_per_second");
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

namespace {

std::string step_text(const JsonObject& heartbeat) {
  const auto step = heartbeat.integer("step"), total = heartbeat.integer("max_steps");
  if (!step) return "";
  return cat(", ", *step, total ? cat(" of ", *total) : "", " updates");
}

[[noreturn]] void hung(const std::string& what) {
  throw Error(Code::kHung, what, "",
              "a job that is started again resumes from its last checkpoint");
}

}  // namespace

std::string judge_heartbeat(std::string_view text, const HeartbeatRule& rule) {
  const Json parsed = parse_json(text);
  const JsonObject heartbeat(parsed);
  const std::string phase = heartbeat.text("phase").value_or("");
  const std::optional<double> time_s = parse_timestamp(heartbeat.text("time").value_or(""));
  if (phase.empty() || !time_s) {
    throw Error(Code::kCorrupt, "is no heartbeat of berth", "",
                "remove it, or use another --job-dir");
  }
  const std::string job = cat(phase, step_text(heartbeat));
  if (phase == phase_name(JobPhase::kFinished)) return job;
  const std::string process = heartbeat.text("process").value_or("");
  if (phase == phase_name(JobPhase::kEnded) || (!process.empty() && !rule.is_running(process))) {
    hung(cat("the process that wrote it does not run here (", job, ")"));
  }
  const double age_s = rule.now_s - *time_s;
  const std::string silence = cat(job, ", ", std::llround(age_s), " s ago");
  const bool gives_signs =
      phase == phase_name(JobPhase::kTraining) || phase == phase_name(JobPhase::kEvaluating);
  if (gives_signs && age_s > rule.max_age_s) {
    hung(cat("the last sign of life is older than --max-age (", silence, ")"));
  }
  return silence;
}

void run_heartbeat(Job& job) {
  const CommandLine& asked = job.command_line;
  const Uri file = JobDirectory(asked.settings.output).heartbeat();
  const std::optional<std::string> text = read_text(job.storage, file);
  if (!text) {
    throw Error(Code::kNotFound, "there is no heartbeat", file.to_string(),
                "a job writes it once it has read its data");
  }
  StandardOutput output;
  try {
    const std::string sentence =
        judge_heartbeat(*text, {.now_s = wall_clock_s(),
                                .max_age_s = static_cast<double>(asked.tool.max_age_s),
                                .is_running = is_process_running});
    output.write(as_bytes(printable_lines(sentence + "\n")));
  } catch (const Error& error) {
    if (!error.where().empty()) throw;
    throw error.at(file.to_string());
  }
  output.close();
}

}  // namespace berth
