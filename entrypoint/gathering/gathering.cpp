#include "entrypoint/gathering/gathering.h"

#include "storage/base/text.h"

namespace berth {

Error lost_worker(int64_t rank, const std::string& host, const std::string& why) {
  return Error(Code::kPeerLost,
               cat("worker ", rank, host.empty() ? "" : cat(" (", host, ")"), " ", why), "",
               "start the workers again; a training resumes from its last checkpoint");
}

}  // namespace berth
