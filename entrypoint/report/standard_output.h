#pragma once

#include "storage/base/bytes.h"

namespace berth {

// Standard output leads to a program that has ended, as `head` does. It is no failure: the program
// ends with exit code 0 and says nothing.
struct OutputClosed {};

// Standard output as a sink. Unlike in other sinks, bytes appear before close(). On a terminal they
// are made printable (storage/base/printable.h), so one write() must not end inside a character.
// Throws kNoSpace, and OutputClosed where the reader has seen enough.
class StandardOutput final : public ByteSink {
 public:
  void write(Bytes bytes) override;
  Stat close() override;
};

}  // namespace berth
