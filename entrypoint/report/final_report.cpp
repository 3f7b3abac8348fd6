#include "entrypoint/report/final_report.h"

#include <fcntl.h>
#include <unistd.h>

#include <new>
#include <nlohmann/json.hpp>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/secrets.h"
#include "storage/base/text.h"

namespace berth {
namespace {

constexpr size_t kLimitBytes = 4096;

// Severities of Cloud Logging. A job that was asked to stop did so in order.
const char* severity(const FinalReport& report) {
  if (report.code == 0) return "INFO";
  return report.code == exit_code(Code::kStopped) ? "NOTICE" : "ERROR";
}

// A result is named as a whole or not at all: a part of a command must not be typed.
void add_results(OrderedJson& object, const JobResults& results) {
  const auto add = [&object](const char* name, const std::string& text) {
    if (!text.empty()) object[name] = text;
  };
  add("model", results.model);
  add("report", results.report);
  add("predictions", results.predictions);
  add("embeddings", results.embeddings);
  add("next", results.next);
  add("read", results.read);
}

std::string dump(const FinalReport& report, double time_s, size_t text_limit) {
  const auto cut = [text_limit](const std::string& text) {
    return text.size() <= text_limit ? text : text.substr(0, text_limit) + "...";
  };
  OrderedJson object = {
      {"code", report.code},
      {"reason", report.reason},
      {"what", cut(report.what)},
      {"where", cut(report.where)},
      {"hint", cut(report.hint)},
      {"step", report.step},
      {"checkpoint", cut(report.checkpoint)},
  };
  if (text_limit == kLimitBytes) add_results(object, report.results);
  object["time"] = iso_time(time_s);
  object["severity"] = severity(report);
  object["message"] = cut(sentence(report));
  return printable_json(to_text(object));
}

FinalReport report_of(const Error& error) {
  return {.code = exit_code(error.code()),
          .reason = std::string(reason(error.code())),
          .what = without_known_secrets(error.problem()),
          .where = without_known_secrets(error.where()),
          .hint = without_known_secrets(error.hint()),
          .checkpoint = ""};
}

}  // namespace

FinalReport success_report(const JobProgress& progress) {
  FinalReport report{.reason = "finished",
                     .what = "all work is done",
                     .where = "",
                     .hint = "",
                     .checkpoint = progress.checkpoint()};
  report.step = progress.step();
  report.results = progress.results();
  return report;
}

FinalReport failure_report(const std::exception_ptr& failure, const JobProgress& progress) {
  FinalReport report;
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    report = report_of(error);
  } catch (const std::bad_alloc&) {
    report =
        report_of(Error(Code::kMemory, "memory ran out", "",
                        "give the job more memory, or lower --batch-size or --max-seq-length"));
  } catch (const std::exception& error) {
    report = report_of(Error(Code::kInternal, error.what(), "", "this is a bug: please report it"));
  } catch (...) {
    report = report_of(
        Error(Code::kInternal, "an unknown failure", "", "this is a bug: please report it"));
  }
  report.step = progress.step();
  report.checkpoint = progress.checkpoint();
  return report;
}

std::string sentence(const FinalReport& report) {
  std::string text = report.where.empty() ? report.what : report.where + ": " + report.what;
  return printable(report.hint.empty() ? text : text + "; " + report.hint);
}

std::string results_text(const JobResults& results) {
  std::string text;
  const auto add = [&text](const char* before, const std::string& what) {
    if (!what.empty()) text += before + printable(what) + "\n";
  };
  add("model:  ", results.model);
  add("report: ", results.report);
  add("predictions: ", results.predictions);
  add("embeddings: ", results.embeddings);
  add("to read them in Python:\n  ", results.read);
  add(cat("to ", results.next_purpose, ":\n  ").c_str(), results.next);
  return text;
}

std::string json_line(const FinalReport& report, const Clock& wall_clock) {
  const double time_s = wall_clock();
  for (size_t text_limit = kLimitBytes;; text_limit /= 2) {
    std::string line = dump(report, time_s, text_limit);
    if (line.size() <= kLimitBytes) return line;
  }
}

void write_termination_log(const std::string& line, const std::filesystem::path& file) {
  // Never creates it, and never waits for a reader of a pipe.
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return;
  [[maybe_unused]] const ssize_t written = ::write(descriptor, line.data(), line.size());
  ::close(descriptor);
}

}  // namespace berth
