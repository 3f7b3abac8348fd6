#include "entrypoint/modes/spilled_lines.h"

#include <algorithm>

namespace berth {

void SpilledLines::append(std::string_view line) {
  if (size_ % kLinesPerOffset == 0) offsets_.push_back(file_.size() + pending_.size());
  pending_.append(line) += '\n';
  ++size_;
  if (pending_.size() >= kWriteBytes) flush();
}

void SpilledLines::flush() {
  if (pending_.empty()) return;
  file_.append(as_bytes(pending_));
  pending_.clear();
}

void SpilledLines::seek(int64_t number) {
  const int64_t known = number / kLinesPerOffset;
  window_.clear();
  at_ = 0;
  window_end_ = offsets_[static_cast<size_t>(known)];
  for (next_ = known * kLinesPerOffset; next_ < number; ++next_) next();
}

// Returns the line at window_[at_] with its line feed, and moves on.
std::string_view SpilledLines::next() {
  size_t end = window_.find('\n', at_);
  while (end == std::string::npos) {
    window_.erase(0, at_);
    at_ = 0;
    const size_t kept = window_.size();
    const auto more = std::min<uint64_t>(kWriteBytes, file_.size() - window_end_);
    window_.resize(kept + more);
    file_.read_at(window_end_, std::as_writable_bytes(std::span(window_).subspan(kept)));
    window_end_ += more;
    end = window_.find('\n', kept);
  }
  const std::string_view line = std::string_view(window_).substr(at_, end + 1 - at_);
  at_ = end + 1;
  return line;
}

void SpilledLines::read(int64_t number, std::vector<std::byte>& bytes) {
  flush();
  if (number != next_ || window_end_ == 0) seek(number);
  const Bytes line = as_bytes(next());
  bytes.insert(bytes.end(), line.begin(), line.end());
  ++next_;
}

}  // namespace berth
