#include "storage/base/clock.h"

#include <chrono>
#include <cmath>
#include <ctime>
#include <thread>

#include "storage/base/text.h"

namespace berth {

double wall_clock_s() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

double steady_clock_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double boot_clock_s() {
  std::timespec now{};
  if (::clock_gettime(CLOCK_BOOTTIME, &now) != 0) return steady_clock_s();
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

void sleep_s(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

std::string iso_time(double wall_s) {
  const auto milliseconds = static_cast<int64_t>(std::floor(wall_s * 1000));
  const std::time_t seconds = milliseconds / 1000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char date[64];
  std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &parts);
  return formatted("%s.%03dZ", date, static_cast<int>(milliseconds % 1000));
}

}  // namespace berth
