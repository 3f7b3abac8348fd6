#pragma once

#include <memory>

#include "storage/storage.h"
#include "storage/verified_storage.h"

namespace berth {

// Reads the object that `stat` describes, in order. `options.connections` threads fetch parts ahead
// of the reader and report progress. The last part is returned only if the parts' checksums combine
// to the object's CRC-32C; otherwise read() throws kUnavailable. The destructor stops the threads
// and waits for them. `inner` and `options` must outlive the source.
std::unique_ptr<ByteSource> make_parallel_source(Storage& inner, const Uri& uri, const Stat& stat,
                                                 const TransferOptions& options);

// Throws kUnavailable unless size and CRC-32C of the bytes that arrived match `stat`.
void require_intact(const Stat& stat, uint64_t size, uint32_t crc, const Uri& uri);

}  // namespace berth
