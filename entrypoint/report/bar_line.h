#pragma once

#include <string>
#include <vector>

namespace berth {

// "Epoch 1/3  125/282 [=====>.....] 44%  412 ex/s  ETA 0:23", in fewer than `columns` columns: the
// bar shrinks, then goes, then the last of `details`, one by one. `fraction` is from 0 to 1.
std::string bar_line(const std::string& head, double fraction,
                     const std::vector<std::string>& details, int columns);

// "%.3g" and the like; "-" for what is no number.
std::string number_text(const char* format, double value);

// "0:23", "12:05", "3:00:59"; "-" for what is no length of time.
std::string duration_text(double seconds);

}  // namespace berth
