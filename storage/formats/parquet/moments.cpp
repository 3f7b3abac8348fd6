#include "storage/formats/parquet/moments.h"

#include <cstdio>

namespace berth::parquet {
namespace {

int64_t floor_divide(int64_t number, int64_t by) {
  return number / by - (number % by != 0 && number < 0);
}

int64_t ticks_per_second(TimeUnit unit) {
  switch (unit) {
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

// `fraction` is a number of ticks, less than those of a second.
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

// Hinnant, "chrono-compatible low-level date algorithms", civil_from_days. Days far outside the
// calendar of any data are printed as the number they are.
std::string date_text(int64_t days) {
  constexpr int64_t kMost = int64_t{1} << 40;
  if (days < -kMost || days > kMost) return std::to_string(days);
  constexpr int64_t kDaysOfEra = 146'097, kEpoch = 719'468;  // days from 0000-03-01
  const int64_t era = floor_divide(days + kEpoch, kDaysOfEra);
  const int64_t day = days + kEpoch - era * kDaysOfEra;
  const int64_t year_of_era = (day - day / 1'460 + day / 36'524 - day / 146'096) / 365;
  const int64_t day_of_year = day - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const int64_t shifted_month = (5 * day_of_year + 2) / 153;  // from March on
  const int64_t month = shifted_month < 10 ? shifted_month + 3 : shifted_month - 9;
  const int64_t year = year_of_era + era * 400 + (month <= 2);
  return formatted("%04lld-%02lld-%02lld", static_cast<long long>(year),
                   static_cast<long long>(month),
                   static_cast<long long>(day_of_year - (153 * shifted_month + 2) / 5 + 1));
}

std::string time_text(int64_t ticks, TimeUnit unit) {
  const int64_t per_second = ticks_per_second(unit);
  const int64_t seconds = floor_divide(ticks, per_second);
  const int64_t of_day = seconds - floor_divide(seconds, kSecondsOfDay) * kSecondsOfDay;
  return time_of_day(of_day, ticks - seconds * per_second, unit);
}

std::string timestamp_text(int64_t ticks, TimeUnit unit, bool is_utc) {
  const int64_t per_second = ticks_per_second(unit);
  const int64_t seconds = floor_divide(ticks, per_second);
  const int64_t days = floor_divide(seconds, kSecondsOfDay);
  return moment_text(days, seconds - days * kSecondsOfDay, ticks - seconds * per_second, unit) +
         (is_utc ? "+00:00" : "");
}

std::string julian_text(int64_t nanoseconds, uint32_t julian_day) {
  constexpr int64_t kJulianDayOf1970 = 2'440'588;
  constexpr int64_t kPerSecond = 1'000'000'000, kPerDay = kPerSecond * kSecondsOfDay;
  const int64_t more_days = floor_divide(nanoseconds, kPerDay);
  const int64_t of_day = nanoseconds - more_days * kPerDay;
  return moment_text(int64_t{julian_day} - kJulianDayOf1970 + more_days, of_day / kPerSecond,
                     of_day % kPerSecond, TimeUnit::kNanos);
}

}  // namespace berth::parquet
