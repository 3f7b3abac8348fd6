#include "trainer/text/tokenizer.h"

#include <string>

#include "storage/base/checksum.h"

namespace berth {
namespace {

constexpr std::string_view kProbe =
    "The Caf\xC3\xA9 in Stra\xC3\x9F"
    "e 12345, don't: NA\xC3\x8FVE  \xE4\xB8\xAD\xE6\x96\x87 "
    "\xD0\x9F\xD1\x80\xD0\xB8\xD0\xB2\xD0\xB5\xD1\x82 \xF0\x9F\x98\x80 [MASK] x_y.";

}  // namespace

uint32_t tokenizer_checksum(const Tokenizer& tokenizer) {
  std::string tokens;
  for (int32_t id = 0; id < tokenizer.vocab_size(); ++id) tokens += tokenizer.token(id) + '\n';
  uint32_t crc = crc32c(as_bytes(tokens));
  for (const int32_t id : tokenizer.encode(kProbe, std::nullopt, 512).input_ids) {
    crc = crc32c(as_bytes(std::to_string(id) + ","), crc);
  }
  return crc;
}

}  // namespace berth
