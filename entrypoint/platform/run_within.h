#pragma once

#include <functional>

namespace berth {

// Runs `act` on a thread of its own and waits for it for at most `seconds`. If it takes longer, for
// example a write to a pipe that nobody reads, the thread goes on alone. The process should then
// end soon, and `act` must not refer to objects that end before.
void run_within(double seconds, std::function<void()> act);

}  // namespace berth
