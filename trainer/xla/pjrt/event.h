#pragma once

#include "trainer/xla/pjrt/handle.h"
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

}  // namespace berth
