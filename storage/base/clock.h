#pragma once

#include <functional>
#include <string>

// Clocks and pauses, as functions that a test can replace. Thread-safe. Throws nothing.
namespace berth {

// Returns seconds since some fixed moment. Tests pass a clock of their own.
using Clock = std::function<double()>;

double wall_clock_s();    // since 1970-01-01 UTC
double steady_clock_s();  // never goes back; stands still while the machine is suspended
double boot_clock_s();    // never goes back, and goes on while the machine is suspended

// Sleeps for that many seconds. Tests pass a function that only advances their clock.
using Sleep = std::function<void(double seconds)>;

void sleep_s(double seconds);

// Formats a wall_clock_s() time as ISO 8601: "2026-01-31T23:59:59.125Z".
std::string iso_time(double wall_s);

}  // namespace berth
