#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "storage/base/dtype.h"
#include "trainer/xla/pjrt/event.h"

struct PJRT_Buffer;

namespace berth {

class PjrtApi;

// One tensor in the memory of one device. A default one is empty: no function but the destructor,
// assignment and is_empty() may be called on it. Owns the plugin's buffer and destroys it once.
//
// Not thread-safe. Must be destroyed before the PjrtClient that it comes from.
class PjrtBuffer {
 public:
  PjrtBuffer() = default;
  PjrtBuffer(const PjrtApi& api, PJRT_Buffer* buffer);  // takes ownership of `buffer`
  // Frees the device's memory as soon as no execution or copy needs it.
  ~PjrtBuffer();
  PjrtBuffer(PjrtBuffer&& other) noexcept;
  PjrtBuffer& operator=(PjrtBuffer&& other) noexcept;

  bool is_empty() const { return buffer_ == nullptr; }
  PJRT_Buffer* handle() const { return buffer_; }  // stays owned by this object

  std::vector<int64_t> dimensions() const;
  DType dtype() const;          // throws kInternal for an element type that DType lacks
  size_t size_bytes() const;    // of the values, row-major and without padding
  size_t device_bytes() const;  // what it takes in the device's memory

  // Copies the values, row-major, to `out` of size_bytes() bytes. They are there, and `out` may be
  // freed, once the returned event is done.
  [[nodiscard]] PjrtEvent start_download(std::span<std::byte> out) const;
  // The same, and waits.
  void download(std::span<std::byte> out) const;

  // Gives the device's memory up before the destructor does. Does nothing to a deleted buffer.
  void remove();
  // Whether the memory was given up: by remove(), or because an execution took it as donated.
  bool is_deleted() const;

 private:
  const PjrtApi* api_ = nullptr;
  PJRT_Buffer* buffer_ = nullptr;
};

// A buffer whose content is on its way from the host.
struct PjrtUpload {
  PjrtBuffer buffer;    // may be passed to executions at once
  PjrtEvent host_done;  // the host's memory must stay valid and unchanged until this is done
};

}  // namespace berth
