#pragma once

#include <span>
#include <string_view>

namespace berth {

// The translation of a flag of another program.
enum class Fate {
  kSame,     // the flag of berth that `text` names, with the same value
  kMeans,    // the arguments `text`, where the switch is on
  kIgnored,  // nothing: `text` says why it does not matter here
  kRefused,  // an error: `text` says what helps. Values that mean "off" are accepted, and so are
             // those in `accepted`.
  kRule,     // what a rule of its own says, which may look at other flags: see foreign_rules.h
};

// The words that follow the flag's name on a command line.
enum class Form {
  kValue,   // one value
  kSwitch,  // perhaps true or false
  kList,    // values up to the next flag
};

struct ForeignRule;

struct ForeignFlag {
  std::string_view name;  // as its program writes it, with underscores
  Form form;
  Fate fate;
  std::string_view text = {};
  std::string_view accepted = {};  // for kRefused: further values that change nothing, by commas
  void (*rule)(const ForeignRule&) = nullptr;  // for kRule
};

// THE table of flags of other programs which are neither flags of berth nor aliases of such.
std::span<const ForeignFlag> foreign_flags();

// Finds a row of the table; `-` and `_` are the same. nullptr: there is none.
const ForeignFlag* find_foreign_flag(std::string_view name);

}  // namespace berth
