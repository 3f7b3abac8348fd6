#pragma once

#include <functional>

namespace berth {

// Runs `act` on a thread of its own and waits for it for at most `seconds`. Where it takes longer,
// as a write to a pipe that nobody reads does, the thread is left behind: the process is to end
// soon, and `act` must not refer to what is gone by then.
void run_within(double seconds, std::function<void()> act);

}  // namespace berth
