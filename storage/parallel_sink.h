#pragma once

#include <memory>

#include "storage/storage.h"
#include "storage/verified_storage.h"

namespace berth {

// A large new object of Google Cloud Storage: threads, `options.connections` where the network
// takes its time and a few where it does not, each upload a part, and the storage joins them
// ("parallel composite upload"). The parts lie below "<uri>.parts/" meanwhile; those that an upload
// of the same object left there before, when it was killed, are removed at its end. Memory: a part
// for each connection. Where the parts are lost, close() throws UploadLost. `inner`, which tries
// each part again by itself, outlives it.
std::unique_ptr<ByteSink> make_parallel_sink(Storage& inner, const Uri& uri,
                                             const WriteOptions& write,
                                             const TransferOptions& options);

}  // namespace berth
