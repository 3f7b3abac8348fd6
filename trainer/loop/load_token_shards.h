#pragma once

#include <vector>

#include "storage/storage.h"
#include "trainer/data/token_shard_set.h"
#include "trainer/loop/load_data.h"

namespace berth {

// Loads the shards that --mode prepare --task mlm wrote as one table; `files` are all of them, in
// order. Local files and files in the cache are mapped into memory and stay where they are. Others
// are fetched one after the other, and their sequences are stored as ExampleTable stores rows.
// Throws what TokenShardSet throws, and kBadData where the request is for another task than masked
// language models.
LoadedTable load_token_shards(Storage& storage, const DataRequest& request,
                              const std::vector<Uri>& files);

// The bytes of one such file: mapped, if it is local or in the cache and not compressed, or else
// read. Their content is not checked. Throws what `storage` throws, and kBadData for more than
// 16 GiB.
TokenShardFile read_token_shard_file(Storage& storage, const Uri& file);

}  // namespace berth
