#pragma once

#include <cstdint>

#include "storage/base/bytes.h"

namespace berth {

// Lets the system take back the pages of a mapped file that hold [offset, offset + size), which may
// reach beyond the mapping's end, but not the page in which the next byte lies. Pages shortly
// before the range go with them. So no page stays behind where one range after the other is
// released. They are read again from the file where they are used.
void release_pages(Bytes mapping, uint64_t offset, uint64_t size);

}  // namespace berth
