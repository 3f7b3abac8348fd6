#pragma once

#include "entrypoint/flags/command_line.h"
#include "entrypoint/report/final_report.h"
#include "storage/storage.h"
#include "trainer/inputs/job_directory.h"
#include "trainer/model/task.h"

namespace berth {

// What the last lines of a finished training say: where its results are, and the command that uses
// the model. The report is named if it is there, which asks `storage`; where that fails, it is left
// out. Where the job directory will be gone with its container, another container cannot use it:
// there is no command, and the log says so.
JobResults training_results(const CommandLine& command_line, Storage& storage,
                            const JobDirectory& directory, Task task);

// What the last lines say after `file` was written, and how Python reads it.
JobResults prediction_results(const Uri& file);
JobResults embedding_results(const Uri& file, EmbeddingsFormat format);
// The same for a folder of such files.
JobResults embedding_folder_results(const Uri& folder, EmbeddingsFormat format);

}  // namespace berth
