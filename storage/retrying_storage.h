#pragma once

#include <memory>

#include "storage/retry.h"
#include "storage/storage.h"

namespace berth {

// Retries every verb of `inner`. Nothing else in the program retries. After a failure a source is
// reopened at the byte it had reached, pinned to the same generation. A sink is continued as
// ByteSink's contract says. Two writes of one object are at least one second apart, because Cloud
// Storage rejects more.
std::unique_ptr<Storage> make_retrying_storage(std::unique_ptr<Storage> inner,
                                               const RetryOptions& options);
std::unique_ptr<JoiningStorage> make_retrying_storage(std::unique_ptr<JoiningStorage> inner,
                                                      const RetryOptions& options);

}  // namespace berth
