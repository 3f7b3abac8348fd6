#include "entrypoint/report/progress_lines.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "storage/base/log.h"
#include "storage/base/text.h"

namespace berth {
namespace {

std::string bar(double fraction, size_t cells) {
  const auto filled = static_cast<size_t>(std::lround(fraction * static_cast<double>(cells)));
  if (filled >= cells) return "[" + std::string(cells, '=') + "]";
  const std::string done = filled == 0 ? "" : std::string(filled - 1, '=') + ">";
  return "[" + done + std::string(cells - filled, '.') + "]";
}

}  // namespace

std::string bar_line(const std::string& head, double fraction,
                     const std::vector<std::string>& details, int columns) {
  constexpr size_t kMostCells = 30, kLeastCells = 8, kBarFrame = 3;  // " [" and "]"
  const double part = std::isfinite(fraction) ? std::clamp(fraction, 0.0, 1.0) : 0;
  const size_t width = static_cast<size_t>(std::max(columns, 2)) - 1;  // the cursor needs a column
  const std::string percent = " " + std::to_string(static_cast<int>(part * 100)) + "%";
  for (size_t kept = details.size();; --kept) {
    std::string tail = percent;
    for (size_t i = 0; i < kept; ++i) tail += "  " + details[i];
    const size_t texts = head.size() + tail.size();
    if (texts + kBarFrame + kLeastCells <= width && kept == details.size()) {
      return head + " " + bar(part, std::min(kMostCells, width - texts - kBarFrame)) + tail;
    }
    if (texts <= width) return head + tail;
    if (kept == 0) return head.substr(0, width);
  }
}

std::string number_text(const char* format, double value) {
  if (!std::isfinite(value)) return "-";
  return formatted(format, value);
}

std::string duration_text(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0 || seconds > 1e9) return "-";
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  const auto part = [](int64_t value) { return static_cast<int>(value); };
  if (whole < 3600) return formatted("%d:%02d", part(whole / 60), part(whole % 60));
  return formatted("%d:%02d:%02d", part(whole / 3600), part(whole / 60 % 60), part(whole % 60));
}

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
