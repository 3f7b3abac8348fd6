#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/google/gcs_requests.h"
#include "storage/storage.h"

namespace berth {

// Buffers that are passed from one upload to the next while any upload is running. On a fast
// network, mapping the pages of a new buffer takes as long as sending it. Thread-safe.
class SpareBuffers {
 public:
  // Returns an empty buffer with room for `capacity` bytes.
  std::vector<std::byte> take(size_t capacity) {
    std::vector<std::byte> buffer;
    {
      const std::lock_guard lock(mutex_);
      ++taken_;
      if (!spare_.empty()) {
        buffer = std::move(spare_.back());
        spare_.pop_back();
      }
    }
    buffer.clear();
    buffer.reserve(capacity);
    return buffer;
  }

  void give_back(std::vector<std::byte> buffer) {
    const std::lock_guard lock(mutex_);
    spare_.push_back(std::move(buffer));
    if (--taken_ == 0) spare_.clear();
  }

 private:
  std::mutex mutex_;
  std::vector<std::vector<std::byte>> spare_;
  size_t taken_ = 0;
};

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

// Writes a new version of the object `uri`. Up to 8 MiB are sent in one request. More is sent
// through a resumable upload session in chunks of 16 MiB. Two chunks are kept: one is being sent
// while the next one fills. Lent bytes are sent from the caller's memory without a copy.
// `options.if_generation` must be set.
//
// If an answer is lost, the next attempt asks the session how much it has, or looks for the object
// with this upload's mark. A session that expired before it stored anything is started again. If it
// expires later, the sink throws UploadLost.
//
// `requests` and `buffers` must outlive the sink. Protocol:
// https://cloud.google.com/storage/docs/performing-resumable-uploads
std::unique_ptr<ByteSink> make_gcs_upload(GcsRequests& requests, SpareBuffers& buffers,
                                          const Uri& uri, const WriteOptions& options);

// The sink of JoiningStorage::join(): the server joins the parts and deletes them. If the answer is
// lost, the next close() finds the object by the mark in its metadata.
//
// Protocol: https://cloud.google.com/storage/docs/composite-objects
std::unique_ptr<ByteSink> make_gcs_join(GcsRequests& requests, const Uri& uri,
                                        std::vector<Stat> parts, Generation if_generation);

}  // namespace berth
