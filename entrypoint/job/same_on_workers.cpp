#include "entrypoint/job/same_on_workers.h"

#include <cstddef>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {

void require_same_on_workers(Communicator& ranks, const std::string& own) {
  const std::vector<std::vector<std::byte>> all = gather_bytes(ranks, as_bytes(own));
  for (size_t rank = 0; rank < all.size(); ++rank) {
    if (as_text(all[rank]) == own) continue;
    throw Error(Code::kIncompatible,
                cat("worker ", rank, " has read other files than worker ", ranks.rank()), "",
                "give all workers the same files, and leave them alone while the job runs");
  }
}

}  // namespace berth
