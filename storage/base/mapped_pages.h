#pragma once

#include <cstdint>

#include "storage/base/bytes.h"

namespace berth {

// Lets the system take back the pages of a mapped file that hold [offset, offset + size). The range
// may reach beyond the mapping's end. The page that holds the next byte after the range stays.
// Pages shortly before the range go, too, so no page stays behind when one range after the other is
// released. A page that is used again is read from the file again.
void release_pages(Bytes mapping, uint64_t offset, uint64_t size);

}  // namespace berth
