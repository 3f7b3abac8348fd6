#pragma once

#include <cstdint>
#include <string>

#include "storage/formats/columnar/leaf_type.h"

// Dates and times as pandas prints them, in the proleptic Gregorian calendar. Any number gives a
// text. Fractions of a second have no zeros at their end, and a time of day always has seconds.
namespace berth::columnar {

std::string date_text(int64_t days);  // since 1970-01-01
std::string time_text(int64_t ticks, TimeUnit unit);
// Since 1970-01-01; with +00:00 if `is_utc`.
std::string timestamp_text(int64_t ticks, TimeUnit unit, bool is_utc);
// The timestamps of INT96: nanoseconds of a day, and the Julian day.
std::string julian_text(int64_t nanoseconds, uint32_t julian_day);

}  // namespace berth::columnar
