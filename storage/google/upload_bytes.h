#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "storage/base/bytes.h"

namespace berth {

// Bytes to be sent, in order. Some are copied; lent ones must outlive this object.
class UploadBytes {
 public:
  // `memory` must be empty. Its capacity is used for the copies.
  explicit UploadBytes(std::vector<std::byte> memory = {}) : copied_(std::move(memory)) {}

  size_t size() const { return size_; }
  void copy(Bytes bytes);
  void lend(Bytes bytes);

  // Returns everything after the first `offset` bytes, in pieces that are valid until this object
  // changes.
  std::vector<Bytes> from(size_t offset) const;

  // Keeps the first `size` bytes and moves the others to `rest`, replacing its content.
  void split(size_t size, UploadBytes& rest);

  // Returns the memory of the copies for reuse. This object must not be used afterwards.
  std::vector<std::byte> release() { return std::move(copied_); }

 private:
  struct Piece {
    const std::byte* lent;  // null: the next bytes of copied_
    size_t size;
  };

  std::vector<Piece> pieces_;
  std::vector<std::byte> copied_;
  size_t size_ = 0;
};

}  // namespace berth
