#include "entrypoint/report/hypertune_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/file_descriptor.h"
#include "storage/local_storage.h"
#include "trainer/tasks/task_results.h"

namespace berth {
namespace {

constexpr const char* kDefaultPath = "/tmp/hypertune/output.metrics";
constexpr size_t kMostRecords = 100;

std::string or_else(const std::string& text, const std::string& other) {
  return text.empty() ? other : text;
}

std::string without_prefix(const std::string& name) {
  return name.starts_with("eval_") ? name.substr(5) : name;
}

// Writes JSON as Python's json.dumps() does: in ASCII, with a space after ':' and ','.
std::string record_line(const std::map<std::string, std::string>& values) {
  std::string line;
  for (const auto& [key, value] : values) {
    line += cat(line.empty() ? "{" : ", ", to_ascii_text(Json(key)), ": ", value);
  }
  return line + "}\n";
}

// Gives the file new content, in its place, because another process may follow it. Others may write
// to its directory, so it must be a regular file with one name.
void overwrite(const std::string& path, const std::string& text) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  const FileDescriptor file(::open(path.c_str(), kFlags, 0666));
  if (!file) throw file_error(errno, "open for writing", path);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) throw file_error(errno, "look at", path);
  if (!S_ISREG(status.st_mode) || status.st_nlink != 1) {
    throw Error(Code::kNotPermitted, "it is not a regular file with one name", path);
  }
  if (::ftruncate(file.get(), 0) != 0) throw file_error(errno, "write", path);
  write_all(file.get(), as_bytes(text), path);
}

}  // namespace

std::string hypertune_metric(const Tuning& tuning, const std::string& asked,
                             const std::string& best_metric,
                             const std::vector<std::string>& metrics) {
  const auto is_known = [&](const std::string& name) {
    return name == kLossName || std::ranges::find(metrics, name) != metrics.end();
  };
  if (asked.empty()) {
    const std::string tag = without_prefix(tuning.metric_tag);
    if (is_known(tag)) return tag;
    return or_else(without_prefix(best_metric), metrics.front());
  }
  return checked_metric(asked, metrics, "--hypertune-metric");
}

HypertuneFile::HypertuneFile(Tuning tuning, std::string metric, Clock wall_clock)
    : path_(or_else(tuning.metric_file, kDefaultPath)),
      trial_(or_else(tuning.trial, "0")),
      metric_(std::move(metric)),
      tag_(or_else(tuning.metric_tag, metric_)),
      wall_clock_(std::move(wall_clock)) {}

void HypertuneFile::on_evaluation(const EvaluationReport& report) {
  const auto text = [](const std::string& value) { return to_ascii_text(Json(value)); };
  const double value = metric_ == kLossName ? report.loss : report.metrics.at(metric_);
  std::map<std::string, std::string> record = {{"checkpoint_path", text("")},
                                               {"global_step", text(std::to_string(report.step))},
                                               {"timestamp", python_text(wall_clock_())},
                                               {"trial", text(trial_)}};
  record[tag_] = text(python_text(value));
  records_.push_back(record_line(record));
  if (records_.size() > kMostRecords) records_.pop_front();
  write();
}

void HypertuneFile::write() const {
  const std::filesystem::path path(path_);
  std::error_code failure;
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), failure);
  std::string text;
  for (const std::string& record : records_) text += record;
  try {
    overwrite(path_, text);
  } catch (const Error& error) {
    log_warning(cat("the metric for hyperparameter tuning could not be written to ", path_, ": ",
                    error.problem(), "; training continues"));
  }
}

std::string python_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  const double size = std::abs(value);
  const bool is_plain = size == 0 || (size >= 1e-4 && size < 1e16);
  char buffer[64];
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, value,
                    is_plain ? std::chars_format::fixed : std::chars_format::scientific);
  std::string text(buffer, end.ptr);
  if (is_plain && text.find('.') == std::string::npos) text += ".0";
  return text;
}

}  // namespace berth
