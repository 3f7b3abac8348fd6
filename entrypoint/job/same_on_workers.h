#pragma once

#include <string>

#include "trainer/distributed/communicator.h"

namespace berth {

// Throws kIncompatible where a worker has read other files than this one. `own` identifies what
// this one has read. All workers call it. Their settings were compared when they met.
void require_same_on_workers(Communicator& ranks, const std::string& own);

}  // namespace berth
