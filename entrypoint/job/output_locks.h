#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "storage/fenced_storage.h"
#include "trainer/inputs/job_directory.h"

namespace berth {

// The directories that a process writes to, each held by its lease.json until the object is
// destroyed. Two jobs that write to one directory would delete each other's files.
//
// A local directory is held by a lock, which the kernel releases when the process ends; a file
// system without locks gets a warning. A gs:// directory is held by a lease (RemoteLease), which
// expires half a minute after the process was killed. `storage` writes nothing there once the lease
// is lost, or once a local directory was removed.
//
// The holder of a directory also holds its folders model/, checkpoints/ and summaries/, with
// everything below them. They may have a lease of their own or not.
//
// The constructors take the directories in a fixed order, so that one of two jobs with a common
// directory goes on. They make the local ones that do not exist yet. They throw kInUse, with
// nothing held, if another process holds one of the directories. They also throw it if one of them
// is inside a folder that another process holds. Then they have made no directory, unless the other
// process began in the same moment. They also throw what FileLock::take() and RemoteLease's
// constructor throw. They borrow `storage`.
class OutputLocks {
 public:
  // The directories of a training: the job directory and the directory of the checkpoints. Also the
  // model's and the summaries', if a flag has moved them out of the job directory.
  OutputLocks(const JobDirectory& directory, FencedStorage& storage, const std::atomic<bool>& stop,
              const LeaseTimes& times = {});
  // The one directory that another mode writes to.
  OutputLocks(const Uri& directory, FencedStorage& storage, const std::atomic<bool>& stop,
              const LeaseTimes& times = {});

 private:
  // A directory that this process holds, with all names that it has for it.
  struct Held {
    Uri directory;
    std::vector<Uri> names;
    std::unique_ptr<FencedStorage::Fence> fence{};  // null before it is taken, or without locks
  };

  OutputLocks(const std::vector<Uri>& directories, std::vector<Uri> folders, FencedStorage& storage,
              const std::atomic<bool>& stop, const LeaseTimes& times);

  void take_remote(const LeaseTimes& times);
  void take_local();
  // Throws kInUse, about the directory `wanted`, where another process holds the lease.
  void require_free(const Uri& lease, const Uri& wanted) const;
  // Throws kInUse where another process holds a directory or folder that overlaps with one of this
  // process. Looks at the local ones, or at those in gs://, which are taken by now.
  void require_no_overlap(bool is_local) const;

  FencedStorage& storage_;
  const std::atomic<bool>& stop_;
  const std::vector<Uri> folders_;    // what this process has for itself in its job directory
  std::map<std::string, Held> held_;  // by the directory's address, with a slash at its end
};

}  // namespace berth
