#include "entrypoint/training/update_profile.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "entrypoint/report/perfetto_trace.h"
#include "entrypoint/report/profile_report.h"
#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/whole_file.h"

namespace berth {
namespace {

constexpr int64_t kWarmUp = 2;

}  // namespace

UpdateProfile::UpdateProfile(Device& device, Storage& storage, Uri file, int64_t asked,
                             int64_t left)
    : device_(device),
      storage_(storage),
      file_(std::move(file)),
      profiler_(device.info().threads),
      window_{.profiler = profiler_,
              .first = std::clamp<int64_t>(left - asked, 0, kWarmUp),
              .updates = std::min(asked, left),
              .when_recorded = [this] { write(); }} {
  device_.peak_flops();  // measured before anything is recorded
  device_.set_profiler(&profiler_);
}

UpdateProfile::~UpdateProfile() { device_.set_profiler(nullptr); }

// The training is worth more than its profile, so a failure is a warning.
void UpdateProfile::write() {
  device_.set_profiler(nullptr);
  for (const std::string& line : profile_lines(profiler_, device_.peak_flops())) log_info(line);
  try {
    write_text(storage_, file_,
               as_text(perfetto_trace(profiler_, {.name = "berth", .pid = ::getpid()})));
    log_info(cat("the trace is in ", file_.to_string(), "; ui.perfetto.dev shows it"));
  } catch (const Error& error) {
    if (error.code() == Code::kInUse) throw;
    log_warning(cat("the profile could not be written: ", error.what()));
  }
}

}  // namespace berth
