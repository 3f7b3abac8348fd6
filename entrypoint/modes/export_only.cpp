#include "entrypoint/modes/export_only.h"

#include <optional>

#include "entrypoint/job/earlier_job.h"
#include "entrypoint/job/export_checkpoint.h"
#include "entrypoint/job/output_locks.h"
#include "entrypoint/job/preflight.h"
#include "entrypoint/modes/conversion.h"
#include "storage/base/error.h"
#include "trainer/loop/checkpoint.h"

namespace berth {

void run_export(Job& job) {
  const Settings& asked = job.command_line.settings;
  const OutputOptions& output = asked.output;
  if (output.job_dir.empty()) return run_conversion(job);  // --model is exported
  const Uri directory = Uri::parse(output.job_dir);
  // On Vertex AI there always is a job directory, but it may be empty.
  const std::optional<EarlierJob> earlier = EarlierJob::find(job.storage, directory);
  if (!earlier && !asked.model.model.empty()) return run_conversion(job);
  if (!earlier) {
    throw Error(Code::kNotFound, "there is no job.json, so no job was here", directory.to_string(),
                "give the --job-dir of a job, or --model alone");
  }
  const std::string& elsewhere = output.checkpoint_dir;
  CheckpointStore checkpoints(
      job.storage, elsewhere.empty() ? earlier->checkpoints() : Uri::parse(elsewhere), 0);
  if (const std::optional<int64_t> step = checkpoints.preferred_step()) {
    preflight(job.storage, asked);
    const Uri to = Uri::parse(output.export_dir);
    CheckpointExport model(job, *earlier);
    const OutputLocks lock(to, job.fences, job.stop);
    return model.write(checkpoints, *step, to);
  }
  // The checkpoints may have been deleted after the job finished.
  Settings settings = asked;
  settings.model.model = earlier->model().to_string();
  convert_model(job, settings);
}

}  // namespace berth
