#include "entrypoint/modes/shared_inference.h"

#include "entrypoint/job/cluster.h"
#include "entrypoint/job/precision_choice.h"
#include "storage/store_object.h"

namespace berth {

void run_inference(Job& job, void (*mode)(Job& job)) {
  if (!Cluster::is_wanted(job.command_line)) return mode(job);
  work_together(job, [&](Cluster& cluster) {
    if (!cluster.leads()) job.output.keep_observers(0);
    Job worker = job;
    worker.ranks = cluster.ranks();
    worker.without_bf16 = share_precision(job, *cluster.ranks()).without_bf16;
    mode(worker);
  });
}

void store_results(Job& job, const Uri& uri, const std::function<void(ByteSink&)>& fill) {
  if (job.ranks != nullptr) {
    store_object_once(job.storage, uri, fill);
  } else {
    store_object(job.storage, uri, fill);
  }
}

}  // namespace berth
