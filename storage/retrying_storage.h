#pragma once

#include <memory>

#include "storage/retry.h"
#include "storage/storage.h"

namespace berth {

// Retries every verb of `inner`, and nothing else in the program retries. A source is opened again
// at the byte it had reached, its generation pinned; a sink goes on as ByteSink's contract says. No
// object is written twice within a second.
std::unique_ptr<Storage> make_retrying_storage(std::unique_ptr<Storage> inner,
                                               const RetryOptions& options);

}  // namespace berth
