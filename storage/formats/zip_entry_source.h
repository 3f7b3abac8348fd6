#pragma once

#include <memory>

#include "storage/base/bytes.h"
#include "storage/formats/zip_file.h"

namespace berth {

// The bytes of `file` from `offset` on, as a stream. `file` must have a view() and outlive the
// stream. What was read is released.
std::unique_ptr<ByteSource> open_range(RandomAccessSource& file, uint64_t offset, uint64_t size);

// The unpacked data of an entry of a ZipFile over file.view(), as a stream. It throws kCorrupt
// where the data are damaged, have another size than the directory says, or, at their end, another
// CRC-32.
std::unique_ptr<ByteSource> open_entry(RandomAccessSource& file, const ZipFile::Entry& entry);

}  // namespace berth
