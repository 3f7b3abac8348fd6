#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "storage/base/bytes.h"

namespace berth {

// Where ranks leave each other their addresses before they are connected. Thread-safe.
class KeyValueStore {
 public:
  virtual ~KeyValueStore() = default;
  virtual void set(const std::string& key, Bytes value) = 0;
  // Waits until some rank has set the key. Throws kPeerLost where that takes too long.
  virtual std::vector<std::byte> get(const std::string& key) = 0;
};

// The ranks of one job as one of them sees them. A rank is a process that trains a part of every
// update; ranks are numbered from 0. All of them call the same collectives in the same order, and
// with the same sizes.
//
// Not thread-safe: one thread at a time calls. Messages are the exception, as is said there. Every
// collective throws kPeerLost where another rank can no longer be reached; nothing may be called
// after that.
class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Every rank cuts `send` into size() equal parts, of which part r goes to rank r. The received
  // parts lie in `receive` in the order of the ranks, this rank's own part included. Both have the
  // same size, which is a multiple of size(), and do not overlap.
  virtual void all_to_all(Bytes send, std::span<std::byte> receive) = 0;
  // `receive` holds what all ranks send, in the order of the ranks. It has size() times the size of
  // `send`, which is the same on all ranks.
  virtual void all_gather(Bytes send, std::span<std::byte> receive) = 0;
  // Every rank has rank 0's bytes afterwards.
  virtual void broadcast(std::span<std::byte> data) = 0;

  // The bytes that all_to_all() and all_gather() have sent from this rank to others, without the
  // headers of the transport.
  virtual uint64_t sent_bytes() const = 0;

  // ---- Messages from one rank to another -------------------------------------------------------
  // They travel beside the collectives: other threads may send and receive while one thread calls
  // collectives. A channel has one sending and one receiving thread at a time. Its messages between
  // two ranks arrive in the order in which they were sent. Both sides give the same size. Both
  // functions throw kPeerLost.

  // A channel that was not returned before. All ranks call this equally often, and so get the same.
  virtual uint64_t new_channel() = 0;
  // Returns when the other rank receives.
  virtual void send(int to, uint64_t channel, Bytes data) = 0;
  // Waits for a message. Returns false where a stop was requested before it came; the channel may
  // not be used after that.
  virtual bool receive(int from, uint64_t channel, std::span<std::byte> data,
                       const std::stop_token& stop = {}) = 0;
};

// The values of every rank, one row for each rank: [size][values.size()].
std::vector<std::vector<double>> gather_values(Communicator& ranks, std::span<const double> values);

// The bytes of every rank, which may have different sizes.
std::vector<std::vector<std::byte>> gather_bytes(Communicator& ranks, Bytes bytes);

// Rank 0's bytes, on every rank. The others' `bytes` are ignored.
std::vector<std::byte> broadcast_bytes(Communicator& ranks, Bytes bytes);

bool is_so_on_rank_0(Communicator& ranks, bool is_so);
// Whether `is_so` is true on any rank. Every rank returns the same.
bool any_rank(Communicator& ranks, bool is_so);

}  // namespace berth
