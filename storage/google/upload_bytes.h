#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "storage/base/bytes.h"

namespace berth {

// Bytes on their way, in order: copied ones, and lent ones that outlive it.
class UploadBytes {
 public:
  // `memory` is empty; its room is what copies take first.
  explicit UploadBytes(std::vector<std::byte> memory = {}) : copied_(std::move(memory)) {}

  size_t size() const { return size_; }
  void copy(Bytes bytes);
  void lend(Bytes bytes);

  // What follows the first `offset` bytes, in pieces that are valid until this changes.
  std::vector<Bytes> from(size_t offset) const;

  // Keeps the first `size` bytes; what follows them becomes all of `rest`.
  void split(size_t size, UploadBytes& rest);

  // The memory of its copies, for others; it is of no more use.
  std::vector<std::byte> release() { return std::move(copied_); }

 private:
  struct Piece {
    const std::byte* lent;  // null: the next of copied_
    size_t size;
  };

  std::vector<Piece> pieces_;
  std::vector<std::byte> copied_;
  size_t size_ = 0;
};

}  // namespace berth
