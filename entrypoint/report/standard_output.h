#pragma once

#include "storage/base/bytes.h"

namespace berth {

// Standard output as a sink: what is written appears as it comes. Throws kNoSpace.
class StandardOutput final : public ByteSink {
 public:
  void write(Bytes bytes) override;
  Stat close() override;
};

}  // namespace berth
