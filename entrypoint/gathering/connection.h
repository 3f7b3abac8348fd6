#pragma once

#include <functional>
#include <optional>
#include <string>

#include "entrypoint/gathering/message.h"
#include "storage/base/clock.h"
#include "storage/file_descriptor.h"

namespace berth {

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
