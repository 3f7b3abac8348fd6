#include "storage/formats/columnar/moments.h"

#include <chrono>
#include <cstdio>

namespace berth::columnar {
namespace {

int64_t floor_divide(int64_t number, int64_t by) {
  return number / by - (number % by != 0 && number < 0);
}

// What floor_divide() leaves: in [0, by).
int64_t floor_remainder(int64_t number, int64_t by) {
  const int64_t rest = number % by;
  return rest < 0 ? rest + by : rest;
}

int64_t ticks_per_second(TimeUnit unit) {
  switch (unit) {
    case TimeUnit::kSeconds:
      return 1;
    case TimeUnit::kMillis:
      return 1'000;
    case TimeUnit::kMicros:
      return 1'000'000;
    case TimeUnit::kNanos:
      return 1'000'000'000;
  }
  return 1;
}

template <typename... Numbers>
std::string formatted(const char* format, Numbers... numbers) {
  char text[64];
  std::snprintf(text, sizeof(text), format, numbers...);
  return text;
}

// `fraction` is a number of ticks, less than the ticks of a second.
std::string time_of_day(int64_t seconds, int64_t fraction, TimeUnit unit) {
  std::string text =
      formatted("%02lld:%02lld:%02lld", static_cast<long long>(seconds / 3600),
                static_cast<long long>(seconds / 60 % 60), static_cast<long long>(seconds % 60));
  if (fraction == 0) return text;
  std::string digits = std::to_string(ticks_per_second(unit) + fraction);  // 1 and all digits
  digits.front() = '.';
  digits.erase(digits.find_last_not_of('0') + 1);
  return text + digits;
}

std::string moment_text(int64_t days, int64_t seconds, int64_t fraction, TimeUnit unit) {
  return date_text(days) + " " + time_of_day(seconds, fraction, unit);
}

constexpr int64_t kSecondsOfDay = 86'400;

}  // namespace

// Days outside the years that the standard library knows are printed as the number they are.
std::string date_text(int64_t days) {
  using namespace std::chrono;
  constexpr int64_t kFirst = sys_days(year::min() / January / 1).time_since_epoch().count();
  constexpr int64_t kLast = sys_days(year::max() / December / 31).time_since_epoch().count();
  if (days < kFirst || days > kLast) return std::to_string(days);
  const year_month_day date(sys_days(std::chrono::days(static_cast<int>(days))));
  return formatted("%04d-%02u-%02u", static_cast<int>(date.year()),
                   static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
}

std::string time_text(int64_t ticks, TimeUnit unit) {
  const int64_t per_second = ticks_per_second(unit);
  const int64_t seconds = floor_divide(ticks, per_second);
  return time_of_day(floor_remainder(seconds, kSecondsOfDay), floor_remainder(ticks, per_second),
                     unit);
}

std::string timestamp_text(int64_t ticks, TimeUnit unit, bool is_utc) {
  const int64_t per_second = ticks_per_second(unit);
  const int64_t seconds = floor_divide(ticks, per_second);
  const int64_t days = floor_divide(seconds, kSecondsOfDay);
  return moment_text(days, floor_remainder(seconds, kSecondsOfDay),
                     floor_remainder(ticks, per_second), unit) +
         (is_utc ? "+00:00" : "");
}

std::string julian_text(int64_t nanoseconds, uint32_t julian_day) {
  constexpr int64_t kJulianDayOf1970 = 2'440'588;
  constexpr int64_t kPerSecond = 1'000'000'000, kPerDay = kPerSecond * kSecondsOfDay;
  const int64_t more_days = floor_divide(nanoseconds, kPerDay);
  const int64_t of_day = floor_remainder(nanoseconds, kPerDay);
  return moment_text(int64_t{julian_day} - kJulianDayOf1970 + more_days, of_day / kPerSecond,
                     of_day % kPerSecond, TimeUnit::kNanos);
}

}  // namespace berth::columnar
