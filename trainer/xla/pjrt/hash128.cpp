#include "trainer/xla/pjrt/hash128.h"

#include <cstdio>
#include <cstring>

#include "storage/base/philox.h"

namespace berth {

void Hash128::mix(const std::array<uint32_t, 4>& block) {
  // Philox's key has 64 bits, half of the state. The other half goes into the counter, so that all
  // of the state decides the result.
  const std::array<uint32_t, 4> counter = {block[0] ^ state_[2], block[1] ^ state_[3],
                                           block[2] ^ state_[0], block[3] ^ state_[1]};
  const std::array<uint32_t, 4> mixed = philox4x32(counter, {state_[0], state_[1]});
  for (size_t i = 0; i < 4; ++i) state_[i] ^= mixed[i] ^ block[i];
}

void Hash128::add(std::string_view text) {
  mix({low_word(text.size()), high_word(text.size()), 0, 1});
  for (size_t at = 0; at < text.size(); at += 16) {
    std::array<uint32_t, 4> block = {};
    const std::string_view part = text.substr(at, 16);
    std::memcpy(block.data(), part.data(), part.size());
    mix(block);
  }
}

std::string Hash128::hex() const {
  char text[33];
  std::snprintf(text, sizeof text, "%08x%08x%08x%08x", state_[0], state_[1], state_[2], state_[3]);
  return text;
}

}  // namespace berth
