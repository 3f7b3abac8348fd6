#pragma once

#include <cstdint>

#include "storage/base/bytes.h"

namespace berth {

// Lets the system take back the pages of a mapped file that lie wholly inside
// [offset, offset + size), which may reach beyond the mapping's end. They are read again from the
// file where they are used.
void release_pages(Bytes mapping, uint64_t offset, uint64_t size);

}  // namespace berth
