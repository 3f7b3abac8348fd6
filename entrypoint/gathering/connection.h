#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/base/clock.h"
#include "storage/file_descriptor.h"

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

// One end of a TCP connection that carries messages. It never blocks, and holds at most one message
// that has not arrived whole. Not thread-safe.
class Connection {
 public:
  explicit Connection(FileDescriptor fd);

  int fd() const { return fd_.get(); }
  bool is_open() const { return static_cast<bool>(fd_); }
  void close() { fd_ = FileDescriptor(); }

  // Queues a message and sends what the system takes.
  void send(const Message& message);
  // Whether something waits to be sent, and sends what the system takes.
  bool wants_to_send() const { return !unsent_.empty(); }
  void flush();
  // Whether the other side does not read the answers to its requests. Nothing more is then received
  // from it.
  bool is_behind() const { return unsent_.size() > kMostUnsentBytes; }

  // Calls `handle` with each message of the next bytes that have arrived, at most 16 KiB. Closes
  // the connection if the other side has closed it, or if it sends bytes that are not a message.
  // Passes on what `handle` throws.
  void receive(const std::function<void(Message)>& handle);
  // From now on, a message may have MessageReader::kMostBytes in place of kMostBytesAtFirst.
  void trust() { reader_.set_most_bytes(MessageReader::kMostBytes); }

  // The IP addresses of this end and of the other. Empty where they are not known.
  std::string own_address() const;
  std::string other_address() const;
  // How long nothing has arrived.
  double silent_s() const { return steady_clock_s() - heard_s_; }

 private:
  static constexpr size_t kMostUnsentBytes = size_t{64} << 20;

  FileDescriptor fd_;
  MessageReader reader_{MessageReader::kMostBytesAtFirst};
  std::string unsent_;
  double heard_s_ = steady_clock_s();
};

// Connects to a host by its name or address, and waits at most `within_s` for that. nullopt where
// nobody listens there yet.
std::optional<FileDescriptor> connect_to(const std::string& host, int64_t port, double within_s);

struct Listener {
  FileDescriptor fd;
  int64_t port = 0;
};
// Listens on all addresses of this host. Port 0: any that is free. Throws kUnavailable where the
// port is taken.
Listener listen_on(int64_t port);

// The address of this host by which it reaches others: the address of the route to the internet, or
// loopback if there is no route. Sends nothing.
std::string address_of_this_host();

}  // namespace berth
