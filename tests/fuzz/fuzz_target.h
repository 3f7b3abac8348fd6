#pragma once

#include <initializer_list>
#include <utility>

#include "storage/base/bytes.h"
#include "storage/base/error.h"

namespace berth {

// Reads bytes that anyone may have written. A wrong result ends the process by __builtin_trap(),
// and so does an Error that the target does not expect.
using FuzzTarget = void (*)(Bytes input);

// Adds targets to the table of the program fuzz_targets before main() begins. Each source defines
// one such object, so that a build may leave out sources.
struct FuzzTargets {
  FuzzTargets(std::initializer_list<std::pair<const char*, FuzzTarget>> targets);
};

// Calls read(), which may refuse its input with an Error.
template <typename Read>
void may_refuse(Read read) {
  try {
    read();
  } catch (const Error&) {
  }
}

inline void require(bool holds) {
  if (!holds) __builtin_trap();
}

// Calls read(choice, rest): the first byte of the input chooses how the rest is read.
template <typename Read>
void read_chosen(Bytes input, Read read) {
  if (!input.empty()) read(std::to_integer<uint8_t>(input[0]), input.subspan(1));
}

}  // namespace berth
