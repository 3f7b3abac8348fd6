#include "trainer/xla/pjrt/event.h"

#include <utility>

#include "trainer/xla/pjrt/api.h"

namespace berth {

void PjrtEvent::await() {
  const PjrtOwned<PJRT_Event> once = std::move(event_);  // destroyed even where the call throws
  if (once) PJRT_CALL(*plugin_, Event_Await, args.event = once.get());
}

}  // namespace berth
