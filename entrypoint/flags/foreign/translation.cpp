#include "entrypoint/flags/foreign/translation.h"

#include <algorithm>
#include <array>

#include "entrypoint/flags/foreign/foreign_rules.h"
#include "entrypoint/flags/foreign/own_values.h"
#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
namespace {

constexpr std::array<std::string_view, 6> kOffWords = {"none", "null", "", "0", "0.0", "disabled"};

bool is_accepted(std::string_view value, std::string_view accepted) {
  const std::string word = lower_ascii(value);
  if (is_switch_word(word) && !parse_switch(word)) return true;
  if (std::ranges::find(kOffWords, word) != kOffWords.end()) return true;
  const std::vector<std::string> further = parted(accepted, ",");
  return std::ranges::find(further, word) != further.end();
}

void translate_foreign(const TypedCommand& command, size_t index, Translation& translation) {
  const TypedArgument& argument = command.arguments()[index];
  const ForeignFlag& flag = *argument.foreign;
  const bool needs_value = flag.fate == Fate::kSame || flag.fate == Fate::kRule;
  if (argument.values.empty() && needs_value) {
    return translation.refuse(argument, "the flag needs a value");
  }
  switch (flag.fate) {
    case Fate::kSame:
      return translation.add(cat("--", flag.text, "=", argument.values[0]));
    case Fate::kMeans:
      if (parse_switch(argument.values[0])) translation.add(std::string(flag.text));
      return;
    case Fate::kIgnored:
      return translation.ignore(argument, flag.text);
    case Fate::kRefused: {
      const auto accepts = [&](const std::string& value) {
        return std::ranges::all_of(parted(value, ","), [&](const std::string& part) {
          return is_accepted(part, flag.accepted);
        });
      };
      if (!argument.values.empty() && std::ranges::all_of(argument.values, accepts)) return;
      return translation.refuse(argument, flag.text);
    }
    case Fate::kRule:
      return flag.rule({command, index, translation});
  }
}

}  // namespace

void Translation::ignore(const TypedArgument& argument, std::string_view why) {
  note(argument, cat("has no effect: ", why));
}

void Translation::note(const TypedArgument& argument, std::string text) {
  remarks.push_back({argument.typed, std::move(text), false});
}

void Translation::refuse(const TypedArgument& argument, std::string_view advice) {
  remarks.push_back({argument.typed, std::string(advice), true});
}

Translation translate(const TypedCommand& command) {
  Translation translation;
  for (size_t i = 0; i < command.arguments().size(); ++i) {
    const TypedArgument& argument = command.arguments()[i];
    try {
      if (argument.foreign != nullptr) {
        translate_foreign(command, i, translation);
      } else if (argument.own != nullptr) {
        translate_own(command, argument, translation);
      } else {
        translation.command.add(argument);
      }
    } catch (const Error& error) {  // of a value
      translation.refuse(argument, error.what());
    }
  }
  return translation;
}

}  // namespace berth
