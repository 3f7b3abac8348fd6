#pragma once

#include <functional>
#include <string>

namespace berth {

// Seconds from some fixed moment. Tests pass their own.
using Clock = std::function<double()>;

double wall_clock_s();    // since 1970, UTC
double steady_clock_s();  // never goes back

// Waits so many seconds. Tests pass one that only moves their clock.
using Sleep = std::function<void(double seconds)>;

void sleep_s(double seconds);

// "2026-01-31T23:59:59.125Z".
std::string iso_time(double wall_s);

}  // namespace berth
