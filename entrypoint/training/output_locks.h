#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "storage/fenced_storage.h"
#include "trainer/loop/job_directory.h"

namespace berth {

// The directories that a training job writes to, each held by its lease.json until the object is
// destroyed. Two jobs that write to one directory would delete each other's files.
//
// Held are the job directory, the directory of the checkpoints, and those of the model and of the
// summaries where a flag has moved them out of the job directory. A local directory is held by a
// lock, which the kernel releases when the process ends; a file system without locks gets a
// warning. A gs:// directory is held by a lease (RemoteLease), which expires half a minute after
// the process was killed. `storage` writes nothing there once the lease is lost, or once a local
// directory was removed.
class OutputLocks {
 public:
  // Takes the directories in the order of their real paths, so that of two jobs with a common
  // directory one goes on. Makes a directory of checkpoints that does not exist yet. Throws what
  // FileLock::take() and RemoteLease's constructor throw, with nothing held, and kInUse where a
  // local directory is inside another running job's model/, checkpoints/ or summaries/, or is the
  // other way round. Borrows `storage`.
  OutputLocks(const JobDirectory& directory, FencedStorage& storage, const std::atomic<bool>& stop);

 private:
  std::vector<std::unique_ptr<FencedStorage::Fence>> fences_;
};

}  // namespace berth
