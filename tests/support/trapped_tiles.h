#pragma once

#include <signal.h>

namespace berth {

// While one of these lives, AMX's instructions work on a CPU that has none: it traps them, and a
// handler does to EmulatedTiles what their code says (Intel's Instruction Set Reference: LDTILECFG,
// TILERELEASE, TILELOADD, TILESTORED, TILEZERO, TDPBF16PS). A thread that uses a tile it has not
// configured ends the process, as on the CPU. x86-64 only; one at a time.
class TrappedTiles {
 public:
  TrappedTiles();
  ~TrappedTiles();
  TrappedTiles(const TrappedTiles&) = delete;
  TrappedTiles& operator=(const TrappedTiles&) = delete;

 private:
  struct sigaction before_ {};
};

}  // namespace berth
