#pragma once

#include <string_view>

namespace berth {

// The translation of an option of a Model Garden configuration.
enum class OptionFate {
  kFlag,     // the flag `text` with the same value, unless the value means "off"
  kSwitch,   // the flag `text`, where the option is on
  kIgnored,  // nothing: `text`, if any, says why
  kRefused,  // an error: `text` says what helps. Values that mean "off" are accepted, and so are
             // those in `accepted`.
};

struct GardenOption {
  std::string_view path;  // "task.train_data.seq_length"; one that ends with a dot is a beginning
  OptionFate fate;
  std::string_view text = {};
  std::string_view accepted = {};  // for kRefused, between spaces
  bool keeps_off = false;          // for kFlag: a value that means "off" is given, too
};

// Finds the row for an option. nullptr: there is none.
const GardenOption* find_garden_option(std::string_view path);

}  // namespace berth
