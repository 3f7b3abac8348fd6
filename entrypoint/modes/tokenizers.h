#pragma once

#include <cstddef>
#include <cstdint>

#include "entrypoint/report/progress_lines.h"

namespace berth {

// Logs the progress of the training of a tokenizer now and then. Not thread-safe.
class TokenizerProgress {
 public:
  explicit TokenizerProgress(const LogPace& pace = LogPace()) : reading_(pace), pieces_(pace) {}

  // More texts were read: their number, and their bytes in all.
  void on_texts(uint64_t texts, uint64_t bytes);
  // See OnPieces.
  void on_pieces(size_t pieces, size_t goal);

 private:
  LogPace reading_, pieces_;
  uint64_t texts_ = 0, bytes_ = 0;
};

}  // namespace berth
