#pragma once

#include <vector>

#include "storage/file_lock.h"
#include "trainer/loop/job_directory.h"

namespace berth {

// The local directories that a training job writes to, each held by a lock on its lease.json until
// the object is destroyed. Two jobs that write to one directory would delete each other's files.
//
// Held are the job directory, the directory of the checkpoints, and those of the model and of the
// summaries where a flag has moved them out of the job directory. A gs:// directory cannot be
// held, because nothing there would release it when the process is killed. A file system without
// locks gets a warning.
class OutputLocks {
 public:
  // Takes the directories in the order of their real paths, so that of two jobs with a common
  // directory one goes on. Makes a directory of checkpoints that does not exist yet. Throws what
  // FileLock::take() throws, with nothing held, and kInUse where a directory is inside another
  // running job's model/, checkpoints/ or summaries/, or is the other way round.
  explicit OutputLocks(const JobDirectory& directory);

 private:
  std::vector<FileLock> locks_;
};

}  // namespace berth
