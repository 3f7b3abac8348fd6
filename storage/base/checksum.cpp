#include "storage/base/checksum.h"

#include <cstdio>

namespace berth {

std::string crc_text(uint32_t crc) {
  char text[9];
  std::snprintf(text, sizeof text, "%08x", crc);
  return text;
}

}  // namespace berth
