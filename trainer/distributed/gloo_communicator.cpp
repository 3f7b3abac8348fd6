#include "trainer/distributed/gloo_communicator.h"

#include <gloo/allgather.h>
#include <gloo/alltoall.h>
#include <gloo/broadcast.h>
#include <gloo/common/error.h>
#include <gloo/common/logging.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/store.h>
#include <gloo/transport/tcp/address.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/unbound_buffer.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <exception>
#include <utility>

#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
namespace {

// How long a rank tries to connect to another one, whose address it has just learnt.
constexpr std::chrono::seconds kConnect{60};
// Longer than any update.
constexpr std::chrono::hours kCollective{24 * 7};

Error lost(const std::exception& failure) {
  return Error(
      Code::kPeerLost, cat("another worker cannot be reached: ", failure.what()), "",
      "look why it ended, and start the job again; a training resumes from its last checkpoint");
}

// Calls a collective, and translates what Gloo throws.
template <typename Collective>
void guarded(const Collective& collective) {
  try {
    collective();
  } catch (const Error&) {
    throw;
  } catch (const std::exception& failure) {  // Gloo's exceptions and failed checks
    throw lost(failure);
  }
}

// A rank's addresses as Gloo writes them: for each other rank a sockaddr_storage and a number. Gloo
// copies memory into them that nothing has written, behind what the address's family uses. Clears
// that. Leaves bytes of another layout alone.
std::vector<char> without_unwritten_bytes(std::vector<char> addresses) {
  constexpr size_t kNumberBytes = sizeof(::gloo::transport::tcp::sequence_number_t);
  constexpr size_t kAddressBytes = sizeof(::sockaddr_storage) + kNumberBytes;
  if (addresses.size() % kAddressBytes != 0) return addresses;
  std::vector<char> cleared(addresses.size());
  for (size_t at = 0; at < addresses.size(); at += kAddressBytes) {
    ::sa_family_t family = 0;
    std::memcpy(&family, &addresses[at], sizeof family);
    if (family != AF_INET && family != AF_INET6) return addresses;
    const size_t used = family == AF_INET ? sizeof(::sockaddr_in) : sizeof(::sockaddr_in6);
    std::memcpy(&cleared[at], &addresses[at], used);
    const size_t number = at + sizeof(::sockaddr_storage);
    std::memcpy(&cleared[number], &addresses[number], kNumberBytes);
  }
  return cleared;
}

// Our store as Gloo asks for one.
class GlooStore final : public ::gloo::rendezvous::Store {
 public:
  explicit GlooStore(KeyValueStore& store) : store_(store) {}

  void set(const std::string& key, const std::vector<char>& data) override {
    const std::vector<char> cleared = without_unwritten_bytes(data);
    store_.set(key, std::as_bytes(std::span(cleared)));
  }

  std::vector<char> get(const std::string& key) override {
    const std::vector<std::byte> value = store_.get(key);
    std::vector<char> data(value.size());
    if (!data.empty()) std::memcpy(data.data(), value.data(), value.size());
    return data;
  }

  void wait(const std::vector<std::string>& keys) override {
    for (const std::string& key : keys) store_.get(key);
  }

  void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds&) override {
    wait(keys);  // the store has a limit of its own
  }

 private:
  KeyValueStore& store_;
};

// Throws kUsage unless this host has the address. Gloo's message would say less.
void require_own(const std::string& address) {
  ::addrinfo* found = nullptr;
  const ::addrinfo wanted{.ai_flags = 0,
                          .ai_family = AF_UNSPEC,
                          .ai_socktype = SOCK_STREAM,
                          .ai_protocol = 0,
                          .ai_addrlen = 0,
                          .ai_addr = nullptr,
                          .ai_canonname = nullptr,
                          .ai_next = nullptr};
  bool is_own = false;
  if (::getaddrinfo(address.c_str(), nullptr, &wanted, &found) == 0) {
    for (const ::addrinfo* each = found; each != nullptr && !is_own; each = each->ai_next) {
      const int fd = ::socket(each->ai_family, each->ai_socktype | SOCK_CLOEXEC, 0);
      is_own = fd >= 0 && ::bind(fd, each->ai_addr, each->ai_addrlen) == 0;
      if (fd >= 0) ::close(fd);
    }
    ::freeaddrinfo(found);
  }
  if (!is_own) {
    throw Error(Code::kUsage, "is no address of this host", address,
                "give --worker-address the address under which the other workers reach this one");
  }
}

class GlooCommunicator final : public Communicator {
 public:
  explicit GlooCommunicator(std::shared_ptr<::gloo::Context> context)
      : context_(std::move(context)) {}

  ~GlooCommunicator() override {
    try {
      context_->closeConnections();
    } catch (const std::exception&) {  // closed already, from the other side
    }
  }

  int rank() const override { return context_->rank; }
  int size() const override { return context_->size; }

  void all_to_all(Bytes send, std::span<std::byte> receive) override {
    guarded([&] {
      ::gloo::AlltoallOptions options(context_);
      options.setInput(const_cast<std::byte*>(send.data()), send.size());
      options.setOutput(receive.data(), receive.size());
      options.setTimeout(kCollective);
      ::gloo::alltoall(options);
    });
    sent_ += send.size() / ranks() * (ranks() - 1);
  }

  void all_gather(Bytes send, std::span<std::byte> receive) override {
    guarded([&] {
      ::gloo::AllgatherOptions options(context_);
      options.setInput(const_cast<std::byte*>(send.data()), send.size());
      options.setOutput(receive.data(), receive.size());
      options.setTimeout(kCollective);
      ::gloo::allgather(options);
    });
    sent_ += send.size() * (ranks() - 1);
  }

  void broadcast(std::span<std::byte> data) override {
    guarded([&] {
      ::gloo::BroadcastOptions options(context_);
      options.setOutput(data.data(), data.size());
      options.setRoot(0);
      options.setTimeout(kCollective);
      ::gloo::broadcast(options);
    });
  }

  uint64_t sent_bytes() const override { return sent_; }

  // Gloo's own collectives use slots whose upper byte is not zero.
  uint64_t new_channel() override { return channels_++; }

  void send(int to, uint64_t channel, Bytes data) override {
    guarded([&] {
      const auto buffer =
          context_->createUnboundBuffer(const_cast<std::byte*>(data.data()), data.size());
      buffer->send(to, channel);
      buffer->waitSend(kCollective);
    });
  }

  bool receive(int from, uint64_t channel, std::span<std::byte> data,
               const std::stop_token& stop) override {
    bool has_come = false;
    guarded([&] {
      const auto buffer = context_->createUnboundBuffer(data.data(), data.size());
      buffer->recv(from, channel);
      const std::stop_callback abort(stop, [&] { buffer->abortWaitRecv(); });
      has_come = buffer->waitRecv(kCollective);
    });
    return has_come;
  }

 private:
  uint64_t ranks() const { return static_cast<uint64_t>(context_->size); }

  const std::shared_ptr<::gloo::Context> context_;
  uint64_t sent_ = 0, channels_ = 0;
};

struct TerminateHandler {
  std::function<void(const Error&)> end;
  std::terminate_handler before = nullptr;
};

// Never destroyed, because Gloo's thread may throw while the process ends.
TerminateHandler& terminate_handler() {
  static auto* const handler = new TerminateHandler;
  return *handler;
}

[[noreturn]] void rest_after(const std::exception& failure) {
  terminate_handler().end(lost(failure));
  for (;;) ::pause();
}

void on_terminate() {
  try {
    if (const std::exception_ptr thrown = std::current_exception()) std::rethrow_exception(thrown);
  } catch (const ::gloo::EnforceNotMet& failure) {
    rest_after(failure);
  } catch (const ::gloo::Exception& failure) {
    rest_after(failure);
  } catch (...) {
  }
  if (terminate_handler().before) terminate_handler().before();
  std::abort();
}

// Gloo shares the store since 2025 and borrowed it before.
template <typename Context>
void connect_mesh(Context& context, const std::shared_ptr<GlooStore>& addresses,
                  std::shared_ptr<::gloo::transport::Device>& device) {
  if constexpr (requires { context.connectFullMesh(addresses, device); }) {
    context.connectFullMesh(addresses, device);
  } else {
    context.connectFullMesh(*addresses, device);
  }
}

// Shows all ranks their proofs, and looks at theirs. It waits only as long as for a connection,
// because a stranger may say nothing.
void exchange_proofs(const std::shared_ptr<::gloo::Context>& context,
                     const std::function<std::string(int from, int to)>& proof) {
  std::string shown, expected;
  for (int rank = 0; rank < context->size; ++rank) {
    shown += proof(context->rank, rank);
    expected += proof(rank, context->rank);
  }
  std::string seen(expected.size(), '\0');
  ::gloo::AlltoallOptions options(context);
  options.setInput(shown.data(), shown.size());
  options.setOutput(seen.data(), seen.size());
  options.setTimeout(kConnect);
  ::gloo::alltoall(options);
  if (seen != expected) {
    throw Error(Code::kPeerLost, "a stranger has taken the connection of another worker", "",
                "let only the workers reach each other, and start the job again");
  }
}

}  // namespace

std::unique_ptr<Communicator> connect_ranks(const GlooOptions& options, KeyValueStore& store) {
  require_own(options.address);
  ::gloo::transport::tcp::attr attributes;
  attributes.hostname = options.address;
  auto context = std::make_shared<::gloo::rendezvous::Context>(options.rank, options.size);
  context->setTimeout(kConnect);
  guarded([&] {
    std::shared_ptr<::gloo::transport::Device> device =
        ::gloo::transport::tcp::CreateDevice(attributes);
    connect_mesh(*context, std::make_shared<GlooStore>(store), device);
    if (options.proof) exchange_proofs(context, options.proof);
  });
  return std::make_unique<GlooCommunicator>(std::move(context));
}

void end_process_where_gloo_throws(std::function<void(const Error&)> end) {
  terminate_handler().end = std::move(end);
  const std::terminate_handler now = std::get_terminate();
  if (now == on_terminate) return;
  terminate_handler().before = now;
  std::set_terminate(on_terminate);
}

}  // namespace berth
