#pragma once

#include <optional>
#include <string>
#include <vector>

#include "entrypoint/cluster/message.h"
#include "storage/base/clock.h"
#include "storage/file_descriptor.h"

namespace berth {

// One end of a TCP connection that carries messages. It never blocks. Not thread-safe.
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
  // What has arrived. Closes the connection where the other side has, or where it sends what is no
  // message.
  std::vector<Message> receive();

  // The IP address of this end. Empty where it is not known.
  std::string own_address() const;
  // How long nothing has arrived.
  double silent_s() const { return steady_clock_s() - heard_s_; }

 private:
  FileDescriptor fd_;
  MessageReader reader_;
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

// The address of this host by which it reaches others: that of the route to the internet, or
// loopback where there is none. Sends nothing.
std::string address_of_this_host();

}  // namespace berth
