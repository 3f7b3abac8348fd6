#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "storage/base/dtype.h"
#include "trainer/xla/pjrt/plugin.h"

namespace berth {

// The completion of something that a plugin does asynchronously: an execution or a copy. A default
// one stands for work that is done. Its destructor does not wait: who lent memory to the work must
// await() before freeing it.
//
// Not thread-safe. Must be destroyed before the PjrtPlugin that it comes from.
class PjrtEvent {
 public:
  PjrtEvent() = default;
  // Takes ownership of `event`, which may be null: that is work that is done.
  PjrtEvent(const PjrtPlugin& plugin, PJRT_Event* event)
      : plugin_(&plugin), event_(plugin.own(event)) {}

  // Waits until the work is done. Throws the Error with which it failed: kMemory where the device
  // ran out of memory. Throws at most once; afterwards the event counts as done.
  void await();

 private:
  const PjrtPlugin* plugin_ = nullptr;
  PjrtOwned<PJRT_Event> event_;
};

// One tensor in the memory of one device. A default or moved-from one is empty: no function but the
// destructor and assignment may be called on it. The destructor frees the device's memory as soon
// as no execution or copy needs it.
//
// Not thread-safe. Must be destroyed before the PjrtClient that it comes from.
class PjrtBuffer {
 public:
  PjrtBuffer() = default;
  PjrtBuffer(const PjrtPlugin& plugin, PJRT_Buffer* buffer)  // takes ownership of `buffer`
      : plugin_(&plugin), buffer_(plugin.own(buffer)) {}

  PJRT_Buffer* handle() const { return buffer_.get(); }  // for this folder

  std::vector<int64_t> dimensions() const;
  DType dtype() const;        // throws kInternal for an element type that DType lacks
  size_t size_bytes() const;  // of the values, row-major and without padding

  // Copies the values, row-major, to `out` of size_bytes() bytes. They are there, and `out` may be
  // freed, once the returned event is done.
  [[nodiscard]] PjrtEvent start_download(std::span<std::byte> out) const;
  // The same, and waits. Throws where an execution took the buffer as donated.
  void download(std::span<std::byte> out) const { start_download(out).await(); }

 private:
  const PjrtPlugin* plugin_ = nullptr;
  PjrtOwned<PJRT_Buffer> buffer_;
};

// A buffer whose content is on its way from the host.
struct PjrtUpload {
  PjrtBuffer buffer;    // may be passed to executions at once
  PjrtEvent host_done;  // the host's memory must stay valid and unchanged until this is done
};

}  // namespace berth
