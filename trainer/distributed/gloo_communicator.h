#pragma once

#include <functional>
#include <memory>
#include <string>

#include "storage/base/error.h"
#include "trainer/distributed/communicator.h"

namespace berth {

struct GlooOptions {
  int rank = 0, size = 1;
  // The address of this host under which the other ranks reach it: an IP address or a name.
  std::string address = "127.0.0.1";
  // The proof that rank `from` shows to rank `to` once they are connected. All proofs have the same
  // size. A stranger in the place of a rank cannot know it. Empty: no proof is shown.
  std::function<std::string(int from, int to)> proof{};
};

// Connects the ranks with each other by Gloo over TCP (github.com/facebookincubator/gloo). Each
// rank leaves its addresses in `store`, which all of them share. Returns once all are connected.
// Throws kPeerLost where that fails or a rank does not show its proof, and kUsage if the address
// does not belong to this host. The process must ignore SIGPIPE, because Gloo writes to connections
// that may be closed.
//
// A collective waits for the other ranks without a limit of time, because a rank may be slow and
// still be well. Where the process of another rank ends, its connections close, and the collective
// throws kPeerLost. A rank that is silent must be noticed elsewhere.
std::unique_ptr<Communicator> connect_ranks(const GlooOptions& options, KeyValueStore& store);

// Gloo's own thread throws where another rank ends in the moment in which its connection is
// accepted. Nobody can catch that, so it would abort this process. From this call on, that thread
// calls `end` with kPeerLost instead. `end` is to end the process; where it returns, because
// another thread does so already, the thread rests for ever. Whatever else calls std::terminate
// goes to the handler that was there before. Not thread-safe.
void end_process_where_gloo_throws(std::function<void(const Error&)> end);

}  // namespace berth
