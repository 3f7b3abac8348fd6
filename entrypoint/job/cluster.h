#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "entrypoint/gathering/gathering.h"
#include "entrypoint/job/job.h"
#include "trainer/distributed/communicator.h"

namespace berth {

// The workers of a job, who do it together, from their gathering to its end.
// This process is one of them. Worker 0 leads: it alone writes to the job's directories.
class Cluster {
 public:
  // Whether the command line or the environment asks for several workers.
  static bool is_wanted(const CommandLine& command_line) {
    return command_line.cluster.size.value_or(1) > 1;
  }

  // Gathers the workers and connects them with each other. They find worker 0 by the address from
  // the platform or --master-addr. Without such an address, worker 0 writes its own address to
  // JOB_DIR/rendezvous.json. It adds a secret, which it makes unless one was given. The others must
  // be able to read that file. While they wait for it, they call `is_finished`, unless it is empty,
  // to see whether the job was finished without them. If a worker is lost later, `job.end_process`
  // is called. Throws kInUse if another worker 0 wrote its address there and still answers, and
  // kUsage if the given secret is too short. Also throws what Leader::gather(), Follower::join()
  // and `is_finished` throw. Borrows `job`.
  Cluster(const Job& job, std::function<bool()> is_finished);
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  bool leads() const { return leader_ != nullptr; }
  // The rank of this worker among the workers that have come, which may be fewer than were started.
  RankPlace place() const;
  // The store by which the workers exchange values. Thread-safe, as long as the cluster lives.
  KeyValueStore& store();
  // Null where the job was finished before this worker came.
  Communicator* ranks() { return ranks_.get(); }

  // Worker 0 has written everything: the others may end. They wait for that here.
  void finish();
  // This worker ends before that, because of `error`. If the error only says that another worker is
  // lost, it waits until its number is known: on_lost then ends the process.
  void leave(const Error& error);

 private:
  Uri rendezvous() const;
  std::optional<LeaderPlace> leader_place() const;
  void require_no_other_leader() const;

  const Job& job_;
  GatheringOptions options_;
  std::unique_ptr<Leader> leader_;      // of worker 0
  std::unique_ptr<Follower> follower_;  // of the others
  std::unique_ptr<Communicator> ranks_;
};

// Gathers the workers, does `work` as one of them, and returns when all have done it. Does nothing
// where the job was finished before this worker came. If `work` throws, the others are notified.
// Throws what `work` and the constructor throw.
void work_together(const Job& job, const std::function<void(Cluster& cluster)>& work,
                   std::function<bool()> is_finished = {});

}  // namespace berth
