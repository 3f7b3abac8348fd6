#include "entrypoint/platform/run_within.h"

#include <chrono>
#include <future>
#include <thread>
#include <utility>

namespace berth {

void run_within(double seconds, std::function<void()> act) {
  std::packaged_task<void()> task(std::move(act));
  const std::future<void> done = task.get_future();
  std::thread(std::move(task)).detach();
  done.wait_for(std::chrono::duration<double>(seconds));
}

}  // namespace berth
