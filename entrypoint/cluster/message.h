#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/bytes.h"

namespace berth {

// What the workers of a job tell each other outside of the training. Fields that a kind does not
// use are empty.
struct Message {
  enum class Kind {
    kHello,    // worker to leader: rank, size, host, job, attempt
    kWelcome,  // leader to workers: all are there; attempt, and the rank and size that count now
    kLater,    // leader to worker: not in this attempt; text says why
    kRefused,  // leader to worker: never; text says why
    kSet,      // worker to leader: key, value
    kGet,      // worker to leader: key
    kValue,    // leader to worker: key, value
    kAlive,    // both, every second
    kLeave,    // both: code and text say how it ends; from the leader: all stop together
    kLost,     // leader to workers: rank, text
    kDone      // leader to workers: the job is finished
  };
  Kind kind = Kind::kAlive;
  int64_t rank = 0, size = 0;
  int64_t code = 0;       // an exit code
  std::string host{};     // host_name()
  std::string job{};      // what all workers must agree on; compared as a whole
  std::string attempt{};  // a random name of one gathering of the workers
  std::string key{}, text{};
  std::vector<std::byte> value{};

  bool operator==(const Message&) const = default;
};

// A frame: the length of the rest in four bytes, least significant first, and a JSON object.
std::string encode(const Message& message);

// Cuts a stream of bytes into messages. The bytes may come from anybody. Not thread-safe.
class MessageReader {
 public:
  // Addresses of a few hundred workers fit.
  static constexpr size_t kMostBytes = size_t{4} << 20;

  void add(Bytes bytes) { buffer_.append(as_text(bytes)); }
  // The next whole message; nullopt where more bytes are needed. Throws kCorrupt where the bytes
  // are no message, or one of more than kMostBytes. Nothing can be read after that.
  std::optional<Message> next();

 private:
  std::string buffer_;
};

}  // namespace berth
