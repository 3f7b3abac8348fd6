#include "entrypoint/job/checkpoint_limit.h"

#include <optional>
#include <string>

#include "entrypoint/job/earlier_job.h"
#include "storage/base/log.h"
#include "storage/base/text.h"

namespace berth {

CommandLine with_checkpoint_limit_of_job(Storage& storage, const JobDirectory& directory,
                                         CommandLine command_line) {
  constexpr const char* kFlag = "save-total-limit";
  TrainingOptions& options = command_line.settings.training;
  if (command_line.gives(kFlag)) {
    options.gives_up_checkpoints = options.save_total_limit > 0;
    return command_line;
  }
  const auto begun = EarlierJob::find(storage, directory.root());
  if (!begun) return command_line;
  const auto limit = parse_number(begun->setting(kFlag));
  if (!limit || static_cast<int64_t>(*limit) == options.save_total_limit) return command_line;
  options.save_total_limit = static_cast<int64_t>(*limit);
  log_info(cat("--", kFlag, " ", options.save_total_limit,
               ", because the job began with it and no flag names another"));
  return command_line;
}

}  // namespace berth
