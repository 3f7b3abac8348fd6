#pragma once

#include <string>
#include <vector>

namespace berth {

// A progress bar: "Epoch 1/3  125/282 [=====>.....] 44%  412 ex/s  ETA 0:23". It takes fewer than
// `columns` columns: where the line is too long the bar shrinks, then disappears, and then
// `details` disappear from the last one on. `fraction` is from 0 to 1.
std::string bar_line(const std::string& head, double fraction,
                     const std::vector<std::string>& details, int columns);

// `value` in a printf format such as "%.3g"; "-" where it is not finite.
std::string number_text(const char* format, double value);

// "0:23", "12:05", "3:00:59"; "-" where `seconds` is negative, huge or not finite.
std::string duration_text(double seconds);

}  // namespace berth
