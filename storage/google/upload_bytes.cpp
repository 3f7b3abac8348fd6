#include "storage/google/upload_bytes.h"

#include <algorithm>

namespace berth {

void UploadBytes::copy(Bytes bytes) {
  if (bytes.empty()) return;
  copied_.insert(copied_.end(), bytes.begin(), bytes.end());
  size_ += bytes.size();
  if (!pieces_.empty() && pieces_.back().lent == nullptr) {
    pieces_.back().size += bytes.size();
  } else {
    pieces_.push_back({nullptr, bytes.size()});
  }
}

void UploadBytes::lend(Bytes bytes) {
  if (bytes.empty()) return;
  pieces_.push_back({bytes.data(), bytes.size()});
  size_ += bytes.size();
}

std::vector<Bytes> UploadBytes::from(size_t offset) const {
  std::vector<Bytes> rest;
  const std::byte* copied = copied_.data();
  for (const auto& [lent, size] : pieces_) {
    const Bytes piece(lent != nullptr ? lent : copied, size);
    if (lent == nullptr) copied += size;
    if (offset < size) rest.push_back(piece.subspan(offset));
    offset -= std::min(offset, size);
  }
  return rest;
}

void UploadBytes::split(size_t size, UploadBytes& rest) {
  rest.pieces_.clear();
  rest.copied_.clear();
  rest.size_ = 0;
  size_t copied = 0, kept_copied = 0;
  for (Piece& piece : pieces_) {
    const size_t kept = std::min(piece.size, size), left = piece.size - kept;
    if (piece.lent != nullptr) {
      rest.lend({piece.lent + kept, left});
    } else {
      rest.copy(Bytes(copied_).subspan(copied + kept, left));
      copied += piece.size;
      kept_copied += kept;
    }
    piece.size = kept;
    size -= kept;
  }
  std::erase_if(pieces_, [](const Piece& piece) { return piece.size == 0; });
  copied_.resize(kept_copied);
  size_ -= rest.size_;
}

}  // namespace berth
