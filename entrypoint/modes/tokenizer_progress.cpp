#include "entrypoint/modes/tokenizer_progress.h"

#include "storage/base/counted.h"
#include "storage/base/log.h"
#include "storage/base/text.h"

namespace berth {

void TokenizerProgress::on_texts(uint64_t texts, uint64_t bytes) {
  texts_ += texts;
  bytes_ += bytes;
  if (!reading_.is_due()) return;
  const double rate = reading_.rate(static_cast<double>(bytes_));
  log_info(cat("tokenizer: read ", human_bytes(bytes_), " in ", counted(texts_, "text"), ", ",
               human_bytes(static_cast<uint64_t>(rate)), " a second"));
}

void TokenizerProgress::on_pieces(size_t pieces, size_t goal) {
  if (!pieces_.is_due()) return;
  log_info(pieces <= goal
               ? cat("tokenizer: ", pieces, " of ", goal, " pieces")
               : cat("tokenizer: ", pieces, " candidates are left for ", goal, " pieces"));
}

}  // namespace berth
