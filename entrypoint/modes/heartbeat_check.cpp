#include "entrypoint/modes/heartbeat_check.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "entrypoint/platform/process_name.h"
#include "entrypoint/report/heartbeat.h"
#include "entrypoint/report/standard_output.h"
#include "storage/base/clock.h"
#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/printable.h"
#include "storage/base/text.h"
#include "storage/google/timestamp.h"
#include "storage/whole_file.h"
#include "trainer/loop/job_directory.h"

namespace berth {
namespace {

std::string text_member(const Json& heartbeat, const char* name) {
  const auto member = heartbeat.find(name);
  return member != heartbeat.end() && member->is_string() ? member->get<std::string>() : "";
}

std::string step_text(const Json& heartbeat) {
  const auto step = heartbeat.find("step"), total = heartbeat.find("max_steps");
  if (step == heartbeat.end() || !step->is_number_integer()) return "";
  std::string text = cat(", ", to_text(*step));
  if (total != heartbeat.end() && total->is_number_integer()) text += cat(" of ", to_text(*total));
  return text + " updates";
}

[[noreturn]] void hung(const std::string& what) {
  throw Error(Code::kHung, what, "",
              "a job that is started again resumes from its last checkpoint");
}

}  // namespace

std::string judge_heartbeat(std::string_view text, const HeartbeatRule& rule) {
  const Json heartbeat = parse_json(text);
  const bool is_object = heartbeat.is_object();
  const std::string phase = is_object ? text_member(heartbeat, "phase") : "";
  const std::optional<double> time_s =
      parse_timestamp(is_object ? text_member(heartbeat, "time") : "");
  if (phase.empty() || !time_s) {
    throw Error(Code::kCorrupt, "is no heartbeat of berth", "",
                "remove it, or use another --job-dir");
  }
  const std::string job = cat(phase, step_text(heartbeat));
  if (phase == phase_name(JobPhase::kFinished)) return job;
  const std::string process = text_member(heartbeat, "process");
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
