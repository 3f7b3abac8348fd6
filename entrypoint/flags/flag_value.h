#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "entrypoint/flags/command_line.h"

namespace berth {

// How the value of one flag is read from text into its place in CommandLine, and written back.
struct FlagValue {
  std::string hint;        // what help shows for the value: "FILE", "N", "text|json"; empty: none
  bool is_switch = false;  // the flag may stand without a value
  // Throws kUsage: '"x" is not <what would be accepted>'.
  std::function<void(CommandLine&, std::string_view)> set;
  std::function<std::string(const CommandLine&)> get;  // returns "" where nothing was given
};

// The numbers that a flag accepts, and how an error describes them.
struct RealRange {
  double low, high;
  bool low_included, high_included;
  const char* words;  // "a number above 0"
};
struct IntegerRange {
  int64_t low, high;
};
inline constexpr int64_t kAnyCount = 1'000'000'000'000;  // no count in practice is larger

// Convert text to a value. They throw kUsage. A float without a fraction ("32.0", "1e3") is an
// integer.
int64_t parse_integer(std::string_view text, IntegerRange range);
double parse_real(std::string_view text, const RealRange& range);
bool parse_switch(std::string_view text);
bool is_switch_word(std::string_view text);  // true, false, yes, no, on, off, 1, 0
std::string parse_text(std::string_view text);
// A path or URI. "~" and "~/x" mean the home directory, as in a shell, which does not see them
// behind an equals sign or between quotes. A variable that nothing has replaced, such as
// $(AIP_MODEL_DIR) or $RUN, is refused: it would become the name of a folder. Behind "./" it stays.
std::string parse_path(std::string_view text, const std::string& home);
size_t parse_choice(std::string_view text, const std::vector<std::string>& names);

// The shortest text that parses back to `value`: "5e-5", "0.1".
std::string real_text(double value);

// The place in CommandLine that a chain of members leads to.
template <typename... Members>
auto place(Members... members) {
  return [=](auto& line) -> auto& { return (line.*....*members); };
}
// The places of the options of one group, by a member of its struct.
inline auto data_option(auto member) {
  return place(&CommandLine::settings, &Settings::data, member);
}
inline auto model_option(auto member) {
  return place(&CommandLine::settings, &Settings::model, member);
}
inline auto output_option(auto member) {
  return place(&CommandLine::settings, &Settings::output, member);
}
inline auto training_option(auto member) {
  return place(&CommandLine::settings, &Settings::training, member);
}

template <typename Place>
FlagValue text_value(std::string hint, Place at) {
  return {std::move(hint), false,
          [at](CommandLine& line, std::string_view value) { at(line) = parse_text(value); },
          [at](const CommandLine& line) { return at(line); }};
}

// A file or a directory, local or remote.
template <typename Place>
FlagValue path_value(std::string hint, Place at) {
  return {
      std::move(hint), false,
      [at](CommandLine& line, std::string_view value) { at(line) = parse_path(value, line.home); },
      [at](const CommandLine& line) { return at(line); }};
}

// As path_value(), but "none" and "self" are no places.
template <typename Place>
FlagValue guide_value(Place at) {
  return {"self|none|PATH", false,
          [at](CommandLine& line, std::string_view value) {
            const bool is_word = value == kNoGuide || value == kOwnGuide;
            at(line) = is_word ? std::string(value) : parse_path(value, line.home);
          },
          [at](const CommandLine& line) { return at(line); }};
}

template <typename Place>
FlagValue integer_value(Place at, IntegerRange range) {
  return {"N", false,
          [=](CommandLine& line, std::string_view value) {
            using Number = std::remove_reference_t<decltype(at(line))>;
            at(line) = static_cast<Number>(parse_integer(value, range));
          },
          [at](const CommandLine& line) { return std::to_string(at(line)); }};
}

// For std::optional<int64_t>.
template <typename Place>
FlagValue optional_integer_value(Place at, IntegerRange range) {
  return {
      "N", false,
      [=](CommandLine& line, std::string_view value) { at(line) = parse_integer(value, range); },
      [at](const CommandLine& line) -> std::string {
        const std::optional<int64_t> value = at(line);
        return value ? std::to_string(*value) : "";
      }};
}

template <typename Place>
FlagValue real_value(Place at, RealRange range) {
  return {"X", false,
          [=](CommandLine& line, std::string_view value) { at(line) = parse_real(value, range); },
          [at](const CommandLine& line) { return real_text(at(line)); }};
}

// For std::optional<double>.
template <typename Place>
FlagValue optional_real_value(Place at, RealRange range) {
  return {"X", false,
          [=](CommandLine& line, std::string_view value) { at(line) = parse_real(value, range); },
          [at](const CommandLine& line) -> std::string {
            const std::optional<double> value = at(line);
            return value ? real_text(*value) : "";
          }};
}

// For bool and std::optional<bool>.
template <typename Place>
FlagValue switch_value(Place at) {
  return {"", true,
          [at](CommandLine& line, std::string_view value) { at(line) = parse_switch(value); },
          [at](const CommandLine& line) -> std::string {
            const std::optional<bool> value = at(line);
            return value ? (*value ? "true" : "false") : "";
          }};
}

// One of several named values. Where a value has several names, its first name is shown.
template <typename Value, typename Place>
FlagValue choice_value(Place at, std::vector<std::pair<const char*, Value>> choices) {
  std::vector<std::string> names;
  std::string hint;
  for (size_t i = 0; i < choices.size(); ++i) {
    names.emplace_back(choices[i].first);
    bool is_first = true;
    for (size_t before = 0; before < i; ++before) {
      is_first &= choices[before].second != choices[i].second;
    }
    if (is_first) hint += (hint.empty() ? "" : "|") + names.back();
  }
  if (hint.size() > 56) hint = "NAME";  // the help of such a flag lists its values
  return {hint, false,
          [=](CommandLine& line, std::string_view given) {
            at(line) = choices[parse_choice(given, names)].second;
          },
          [=](const CommandLine& line) -> std::string {
            for (const auto& [name, value] : choices) {
              if (at(line) == value) return name;
            }
            return "";
          }};
}

}  // namespace berth
