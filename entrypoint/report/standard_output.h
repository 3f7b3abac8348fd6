#pragma once

#include "storage/base/bytes.h"

namespace berth {

// Standard output as a sink. Unlike in other sinks, bytes appear before close(). On a terminal they
// are made printable (storage/base/printable.h), so one write() must not end inside a character.
// Throws kNoSpace.
class StandardOutput final : public ByteSink {
 public:
  void write(Bytes bytes) override;
  Stat close() override;
};

}  // namespace berth
