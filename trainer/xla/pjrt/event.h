#pragma once

struct PJRT_Event;

namespace berth {

class PjrtApi;

// The completion of something that a plugin does asynchronously: an execution or a copy. A default
// one stands for work that is done. Owns the plugin's event and destroys it once.
//
// Not thread-safe. Must be destroyed before the PjrtPlugin that it comes from.
class PjrtEvent {
 public:
  PjrtEvent() = default;
  // Takes ownership of `event`, which may be null: that is work that is done.
  PjrtEvent(const PjrtApi& api, PJRT_Event* event);
  // Does not wait: who lent memory to the work must await() before freeing it.
  ~PjrtEvent();
  PjrtEvent(PjrtEvent&& other) noexcept;
  PjrtEvent& operator=(PjrtEvent&& other) noexcept;

  // Whether await() would return, or throw, at once.
  bool is_ready() const;
  // Waits until the work is done. Throws the Error with which it failed: kMemory where the device
  // ran out of memory. Throws at most once; afterwards the event is that of work that is done.
  void await();

 private:
  const PjrtApi* api_ = nullptr;
  PJRT_Event* event_ = nullptr;
};

}  // namespace berth
