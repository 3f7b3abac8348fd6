#pragma once

#include <memory>

#include "storage/storage.h"
#include "storage/verified_storage.h"

namespace berth {

// Writes a large object of Google Cloud Storage in parts. Several threads each upload a part, and
// the storage then joins the parts on its side ("parallel composite upload"). There are
// `options.connections` threads, or a few if the network is so fast that more would not help.
// Memory: one part per connection.
//
// The parts are stored below "<uri>.parts/" until they are joined. At the end, all parts there are
// removed, including the parts that a killed upload of the same object left. If the storage lost
// the parts, close() throws UploadLost. `inner` retries each part by itself and must outlive the
// sink.
std::unique_ptr<ByteSink> make_parallel_sink(JoiningStorage& inner, const Uri& uri,
                                             const WriteOptions& write,
                                             const TransferOptions& options);

}  // namespace berth
