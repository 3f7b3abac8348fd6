#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/bytes.h"

namespace berth {

// The messages between the workers of a job, outside of the training. Fields that a kind does not
// use are empty.
struct Message {
  enum class Kind {
    kChallenge,  // leader to whoever connects: nonce
    kHello,      // worker to leader: nonce, proof, rank, size, host, job, attempt
    kWelcome,    // leader to workers: all are there; attempt, and the rank and size that count now
    kLater,      // leader to worker: not in this attempt; text says why
    kRefused,    // leader to worker: never; text says why, but not to a stranger
    kSet,        // worker to leader: key, value
    kGet,        // worker to leader: key
    kValue,      // leader to worker: key, value
    kAlive,      // both, every second
    kLeave,      // both: code and text say how it ends; from the leader: all stop together
    kLost,       // leader to workers: rank, text
    kDone        // leader to workers: the job is finished
  };
  Kind kind = Kind::kAlive;
  int64_t rank = 0, size = 0;
  int64_t code = 0;              // an exit code
  std::string host{};            // host_name()
  std::string job{};             // a fingerprint of what all workers must agree on
  std::string attempt{};         // a random name of one gathering of the workers
  std::string nonce{}, proof{};  // see proof.h
  std::string key{}, text{};
  std::vector<std::byte> value{};

  bool operator==(const Message&) const = default;
};

// Lower-case hexadecimal digits.
std::string hex(Bytes bytes);

// A frame: the length of the rest in four bytes, least significant first, and a JSON object.
std::string encode(const Message& message);

// Cuts a stream of bytes into messages. The bytes may come from anybody. Not thread-safe.
class MessageReader {
 public:
  // For a sender who has not proved yet that it belongs to the job.
  static constexpr size_t kMostBytesAtFirst = size_t{4} << 10;
  // For workers: the addresses of a few hundred workers fit.
  static constexpr size_t kMostBytes = size_t{4} << 20;

  explicit MessageReader(size_t most_bytes = kMostBytes) : most_bytes_(most_bytes) {}
  void set_most_bytes(size_t most_bytes) { most_bytes_ = most_bytes; }

  void add(Bytes bytes) { buffer_.append(as_text(bytes)); }
  // The next whole message; nullopt where more bytes are needed. Throws kCorrupt if the bytes are
  // not a message, or if the message is too long. Nothing can be read after that.
  std::optional<Message> next();

 private:
  size_t most_bytes_;
  std::string buffer_;
};

}  // namespace berth
