#include "trainer/xla/pjrt/event.h"

#include <utility>

#include "trainer/xla/pjrt/api.h"

namespace berth {
namespace {

void destroy_event(const PjrtApi& api, PJRT_Event* event) noexcept {
  auto args = PJRT_ARGS(Event_Destroy);
  args.event = event;
  PJRT_DESTROY(api, Event_Destroy, args);
}

}  // namespace

PjrtEvent::PjrtEvent(const PjrtApi& api, PJRT_Event* event) : api_(&api), event_(event) {}

PjrtEvent::~PjrtEvent() {
  if (event_ != nullptr) destroy_event(*api_, event_);
}

PjrtEvent::PjrtEvent(PjrtEvent&& other) noexcept
    : api_(other.api_), event_(std::exchange(other.event_, nullptr)) {}

PjrtEvent& PjrtEvent::operator=(PjrtEvent&& other) noexcept {
  if (this == &other) return *this;
  if (event_ != nullptr) destroy_event(*api_, event_);
  api_ = other.api_;
  event_ = std::exchange(other.event_, nullptr);
  return *this;
}

bool PjrtEvent::is_ready() const {
  if (event_ == nullptr) return true;
  auto args = PJRT_ARGS(Event_IsReady);
  args.event = event_;
  PJRT_CALL(*api_, Event_IsReady, args);
  return args.is_ready;
}

void PjrtEvent::await() {
  const PjrtEvent once = std::move(*this);  // destroyed whether the call throws or not
  if (once.event_ == nullptr) return;
  auto args = PJRT_ARGS(Event_Await);
  args.event = once.event_;
  PJRT_CALL(*once.api_, Event_Await, args);
}

}  // namespace berth
