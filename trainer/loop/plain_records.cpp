#include "trainer/loop/plain_records.h"

#include <string_view>
#include <utility>

#include "storage/archive.h"
#include "storage/formats/tfrecord.h"
#include "trainer/loop/peeked_source.h"

namespace berth {

std::unique_ptr<ByteSource> plain_records(std::unique_ptr<ByteSource> stored) {
  auto peeked = std::make_unique<PeekedSource>(std::move(stored));
  // The length at the start of a record may have the same bytes as the start of a gzip file.
  const bool is_gzip = peeked->beginning().starts_with("\x1f\x8b\x08") &&
                       !begins_record(as_bytes(peeked->beginning()));
  return decompress(std::move(peeked), is_gzip ? Compression::kGzip : Compression::kNone);
}

}  // namespace berth
