#include "entrypoint/report/job_output.h"

#include <unistd.h>

#include "entrypoint/report/machine_row.h"
#include "entrypoint/report/progress.h"
#include "entrypoint/report/standard_streams.h"

namespace berth {
namespace {

LogSink make_sink(const CommandLine& command_line, TerminalLine& line) {
  if (wants_text(command_line.log_format, standard_error_is_terminal())) {
    return text_log_sink(command_line.log_level, line);
  }
  return json_log_sink(command_line.log_level, write_standard_error, wall_clock_s);
}

// The width of the terminal that shows the log.
std::function<int()> columns_of(const Platform& platform) {
  const int fallback = platform.columns.value_or(80);
  return [fallback] { return terminal_columns(STDERR_FILENO).value_or(fallback); };
}

bool redraws(const Platform& platform) {
  return standard_error_is_terminal() && platform.term != "dumb";
}

}  // namespace

JobOutput::JobOutput(const CommandLine& command_line, const Platform& platform,
                     JobProgress& progress)
    : progress_(progress),
      line_(write_standard_error, redraws(platform),
            standard_error_is_terminal() ? columns_of(platform) : std::function<int()>()),
      sink_(make_sink(command_line, line_)) {
  const bool as_text = wants_text(command_line.log_format, standard_error_is_terminal());
  if (as_text) {
    add(std::make_unique<Progress>(line_, columns_of(platform)));
  } else {
    add(std::make_unique<JsonLines>());
  }
  add(std::make_unique<Verdict>());
  if (command_line.parent_process == 0) {
    add(std::make_unique<MachineRowLog>(as_text ? MachineRowForm::kSentence : MachineRowForm::kRow,
                                        command_line.price_per_hour));
  }
}

void JobOutput::on(const JobEvent& event) {
  if (const auto* job = std::get_if<JobReport>(&event)) progress_.set_step(job->first_step);
  if (const auto* update = std::get_if<StepReport>(&event)) progress_.set_step(update->step);
  if (const auto* save = std::get_if<CheckpointReport>(&event)) {
    progress_.set_checkpoint(save->where);
  }
  for (const auto& observer : observers_) observer->on(event);
}

}  // namespace berth
