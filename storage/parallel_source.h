#pragma once

#include <memory>

#include "storage/storage.h"
#include "storage/verified_storage.h"

namespace berth {

// The object `stat` describes, of more than one part, in order: `options.connections` threads each
// read one part ahead of the reader, and tell what arrives. The last part is only given out when
// the parts' checksums combine to the object's; kUnavailable when they do not. Destroyed early, it
// waits for the threads, which give up at once. `inner` and `options` outlive it.
std::unique_ptr<ByteSource> make_parallel_source(Storage& inner, const Uri& uri, const Stat& stat,
                                                 const TransferOptions& options);

// Throws kUnavailable unless what arrived is what `stat` promises.
void require_intact(const Stat& stat, uint64_t size, uint32_t crc, const Uri& uri);

}  // namespace berth
