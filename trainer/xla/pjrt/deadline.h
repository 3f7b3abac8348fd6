#pragma once

#include <functional>
#include <string>

namespace berth {

// Runs `work` on a thread of its own and waits for it, at most `deadline_s` seconds. Rethrows what
// it throws. Throws `late` after the deadline.
//
// A thread cannot be ended from outside, so after the deadline it is left behind, and `work` must
// own all that it uses. The process is expected to end then: from that moment on, exit() runs no
// destructors of static objects, which the thread may be using, and does not wait for locks of the
// dynamic loader, which the thread may hold. Standard output and error are still flushed.
void run_within(double deadline_s, std::function<void()> work, const std::function<void()>& late);

}  // namespace berth
