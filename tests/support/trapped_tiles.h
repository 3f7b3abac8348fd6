#pragma once

#include <signal.h>

namespace berth {

// Lets AMX instructions run on a CPU without AMX while this object lives. The CPU raises SIGILL,
// and a signal handler decodes the instruction and applies it to EmulatedTiles (Intel's Instruction
// Set Reference: LDTILECFG, TILERELEASE, TILELOADD, TILESTORED, TILEZERO, TDPBF16PS). As on a CPU
// with AMX, a thread that uses a tile without configuring it ends the process. x86-64 only; one
// object at a time.
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
