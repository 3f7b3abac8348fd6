#pragma once

#include <memory>
#include <string>

#include "trainer/distributed/communicator.h"
#include "trainer/distributed/key_value_store.h"

namespace berth {

struct GlooOptions {
  int rank = 0, size = 1;
  // The address of this host under which the other ranks reach it: an IP address or a name.
  std::string address = "127.0.0.1";
};

// Connects the ranks with each other by Gloo over TCP (github.com/facebookincubator/gloo). Each
// rank leaves its addresses in `store`, which all of them share. Returns once all are connected.
// Throws kPeerLost where that fails, and kUsage where the address is none of this host.
//
// A collective waits for the other ranks without a limit of time, because a rank may be slow and
// still be well. Where the process of another rank ends, its connections close, and the collective
// throws kPeerLost. A rank that is silent must be noticed elsewhere.
std::unique_ptr<Communicator> connect_ranks(const GlooOptions& options, KeyValueStore& store);

}  // namespace berth
