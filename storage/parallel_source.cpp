#include "storage/parallel_source.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "storage/base/crc32c.h"
#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
namespace {

class ParallelSource final : public ByteSource {
 public:
  ParallelSource(Storage& inner, const Uri& uri, const Stat& stat, const TransferOptions& options)
      : inner_(inner),
        meter_(options.on_progress, {.uri = uri.to_string(), .total = stat.size}),
        uri_(uri),
        stat_(stat),
        part_bytes_(options.part_bytes),
        parts_((stat.size + part_bytes_ - 1) / part_bytes_),
        slots_(std::min<uint64_t>(parts_, static_cast<uint64_t>(options.connections))) {
    for (size_t i = 0; i < slots_.size(); ++i) {
      threads_.emplace_back([this](const std::stop_token& stop) { fetch_parts(stop); });
    }
  }

  ~ParallelSource() override {
    for (std::jthread& thread : threads_) thread.request_stop();
  }

  size_t read(std::span<std::byte> buffer) override {
    if (part_ == parts_) return 0;
    Slot& slot = slots_[part_ % slots_.size()];
    if (offset_ == 0) await(slot);
    const uint64_t size = size_of(part_);
    const size_t count = std::min<uint64_t>(buffer.size(), size - offset_);
    std::copy_n(slot.bytes.get() + offset_, count, buffer.begin());
    offset_ += count;
    if (offset_ == size) pass_on(slot);
    return count;
  }

 private:
  // The buffer for one part. The mutex guards its hand-over between the reader and the threads.
  struct Slot {
    std::unique_ptr<std::byte[]> bytes;
    uint32_t crc = 0;
    bool is_full = false;
  };

  uint64_t size_of(uint64_t part) const {
    return std::min(part_bytes_, stat_.size - part * part_bytes_);
  }

  // Waits until the reader's next part has arrived, and verifies the object's checksum with the
  // last.
  void await(const Slot& slot) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return slot.is_full || failure_; });
    if (!slot.is_full) std::rethrow_exception(failure_);
    crc_ = crc32c_combine(crc_, slot.crc, size_of(part_));
    if (part_ + 1 < parts_) return;
    require_intact(stat_, stat_.size, crc_, uri_);
    meter_.finish();
  }

  void pass_on(Slot& slot) {
    const std::lock_guard lock(mutex_);
    slot.is_full = false;
    ++part_;
    offset_ = 0;
    changed_.notify_all();
  }

  // The body of each thread: fetches the next part whose slot is free, until none is left.
  void fetch_parts(const std::stop_token& stop) {
    try {
      while (const std::optional<uint64_t> part = claim(stop)) {
        Slot& slot = slots_[*part % slots_.size()];
        if (!slot.bytes) slot.bytes = std::make_unique_for_overwrite<std::byte[]>(part_bytes_);
        slot.crc = fetch(*part, slot.bytes.get(), stop);
        const std::lock_guard lock(mutex_);
        slot.is_full = true;
        changed_.notify_all();
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
      changed_.notify_all();
    }
  }

  std::optional<uint64_t> claim(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    const bool go_on = changed_.wait(lock, stop, [this] {
      return failure_ || claimed_ == parts_ || claimed_ < part_ + slots_.size();
    });
    if (!go_on || failure_ || claimed_ == parts_) return std::nullopt;
    return claimed_++;
  }

  uint32_t fetch(uint64_t part, std::byte* bytes, const std::stop_token& stop) {
    const uint64_t size = size_of(part);
    const auto source = inner_.open(uri_, {.offset = part * part_bytes_,
                                           .length = size,
                                           .generation = stat_.generation,
                                           .stop = stop});
    uint32_t crc = 0;
    for (uint64_t filled = 0; filled < size;) {
      const size_t count = source->read({bytes + filled, size - filled});
      if (count == 0) {
        throw Error(Code::kUnavailable, "storage ends a part before its last byte",
                    uri_.to_string());
      }
      crc = crc32c({bytes + filled, count}, crc);  // while the bytes are in the CPU cache
      filled += count;
      meter_.add(count);
    }
    return crc;
  }

  Storage& inner_;
  TransferMeter meter_;
  const Uri uri_;
  const Stat stat_;
  const uint64_t part_bytes_, parts_;

  uint64_t offset_ = 0;  // of the reader within its part
  uint32_t crc_ = 0;     // of all parts up to the reader's

  std::mutex mutex_;  // guards all members below
  std::condition_variable_any changed_;
  std::vector<Slot> slots_;
  uint64_t part_ = 0;  // the part that the reader is in
  uint64_t claimed_ = 0;
  std::exception_ptr failure_;
  std::vector<std::jthread> threads_;  // declared last: the threads use the members above
};

}  // namespace

std::unique_ptr<ByteSource> make_parallel_source(Storage& inner, const Uri& uri, const Stat& stat,
                                                 const TransferOptions& options) {
  return std::make_unique<ParallelSource>(inner, uri, stat, options);
}

void require_intact(const Stat& stat, uint64_t size, uint32_t crc, const Uri& uri) {
  if (size == stat.size && stat.crc32c.value_or(crc) == crc) return;
  throw Error(Code::kUnavailable,
              size == stat.size ? "arrived damaged: its CRC-32C differs from the stored object's"
                                : cat(size, " bytes arrived of ", stat.size),
              uri.to_string(), "start again");
}

}  // namespace berth
