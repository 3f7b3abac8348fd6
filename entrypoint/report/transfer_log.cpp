#include "entrypoint/report/transfer_log.h"

#include <cmath>

#include "storage/base/log.h"
#include "storage/base/text.h"

namespace berth {

void log_transfer(const TransferProgress& progress) { log_info(transfer_text(progress)); }

std::string transfer_text(const TransferProgress& progress) {
  const double rate = static_cast<double>(progress.bytes) / std::max(progress.seconds, 1e-3);
  const std::string speed = human_bytes(static_cast<uint64_t>(rate)) + "/s";
  if (progress.finished) {
    return cat(progress.is_upload ? "wrote " : "read ", progress.uri, ": ",
               human_bytes(progress.bytes), " in ", std::llround(progress.seconds), " s, ", speed);
  }
  std::string text = cat(progress.is_upload ? "writing " : "reading ", progress.uri, ": ",
                         human_bytes(progress.bytes));
  if (progress.total == 0) return cat(text, " so far, ", speed);
  text += cat(" of ", human_bytes(progress.total), ", ", speed);
  if (rate < 1 || progress.bytes > progress.total) return text;
  const double left_s = static_cast<double>(progress.total - progress.bytes) / rate;
  return cat(text, ", ", std::llround(left_s), " s left");
}

}  // namespace berth
