#include "trainer/data/cell_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "trainer/data/number_form.h"

namespace berth {

std::string_view number_text(std::string_view text) {
  text = trimmed(text);
  // A plus sign alone, or before another sign, is not dropped.
  const bool has_plus = text.size() > 1 && text[0] == '+' && text[1] != '-' && text[1] != '+';
  return text.substr(has_plus);
}

std::optional<double> parse_real(std::string_view text) {
  text = number_text(text);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

bool means_missing(std::string_view text) {
  // pandas 2.2, pandas._libs.parsers.STR_NA_VALUES.
  static constexpr std::array<std::string_view, 18> kMissing = {
      "NaN",  "nan", "NA",   "N/A",      "n/a",  "NULL",   "null",    "None",    "<NA>",
      "#N/A", "#NA", "-NaN", "#N/A N/A", "-nan", "1.#IND", "1.#QNAN", "-1.#IND", "-1.#QNAN"};
  return std::ranges::find(kMissing, trimmed(text)) != kMissing.end();
}

bool is_missing(const Cell& cell, bool are_texts) {
  if (const auto* text = std::get_if<std::string>(&cell)) {
    const std::string_view label = trimmed(*text);
    return label.empty() || label == "nan" || label == "NaN" || (are_texts && means_missing(label));
  }
  const auto* real = std::get_if<double>(&cell);
  return std::holds_alternative<std::monostate>(cell) || (real != nullptr && std::isnan(*real));
}

std::optional<std::string> label_text(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) {
    const std::string_view label = trimmed(*text);
    if (label.empty() || label == "nan" || label == "NaN") return std::nullopt;
    return std::string(label);
  }
  if (const auto* integer = std::get_if<int64_t>(&cell)) return std::to_string(*integer);
  if (const auto* boolean = std::get_if<bool>(&cell)) return *boolean ? "True" : "False";
  if (const auto* number = std::get_if<double>(&cell)) {
    if (std::isnan(*number)) return std::nullopt;
    if (*number == std::floor(*number) && std::abs(*number) < 1e15) {
      return std::to_string(static_cast<int64_t>(*number));
    }
    throw Error(Code::kBadData, cat("label ", *number, " is not a class"), "",
                "pass --task regression, or give classes as integers or names");
  }
  return std::nullopt;
}

std::optional<std::string> plain_text(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* number = std::get_if<double>(&cell)) return cat(*number);
  return label_text(cell);
}

std::optional<double> cell_number(const Cell& cell) { return cell_number(cell, NumberForm{}); }

std::optional<double> cell_number(const Cell& cell, const NumberForm& form) {
  std::optional<double> number;
  if (const auto* text = std::get_if<std::string>(&cell)) {
    if (trimmed(*text).empty()) return std::nullopt;
    number = parse_number(*text, form);
    // What is NaN, infinite or too large is named below.
    if (!number && form == NumberForm{}) number = parse_real(*text);
  } else if (const auto* integer = std::get_if<int64_t>(&cell)) {
    number = static_cast<double>(*integer);
  } else if (const auto* boolean = std::get_if<bool>(&cell)) {
    number = *boolean ? 1 : 0;
  } else if (const auto* real = std::get_if<double>(&cell)) {
    if (std::isnan(*real)) return std::nullopt;
    number = *real;
  } else {
    return std::nullopt;
  }
  constexpr double kLargest = std::numeric_limits<float>::max();
  if (number && std::abs(*number) <= kLargest) return number;
  const std::string text = quoted(plain_text(cell).value_or(""));
  if (!number && parse_number(*std::get_if<std::string>(&cell), {}) && form != NumberForm{}) {
    throw Error(Code::kBadData,
                cat(text, " is not written like the other numbers, which have ",
                    form.decimal == ',' ? "decimal commas" : "decimal points",
                    form.unit.empty() ? "" : cat(" and ", quoted(form.unit))),
                "", "write all numbers in one form, best as 1234.5");
  }
  if (!number && form == NumberForm{} &&
      parse_number(*std::get_if<std::string>(&cell), {',', '\0', ""})) {
    throw Error(Code::kBadData,
                cat(text, " has a decimal comma, and the other numbers have decimal points"), "",
                "write all numbers in one form, best as 1234.5");
  }
  if (!number || !std::isfinite(*number)) {
    throw Error(Code::kBadData, text + " is not a number", "",
                "correct it, leave such rows out with --skip-bad-rows N, or pass --task "
                "sequence_classification if the labels are names");
  }
  throw Error(Code::kBadData, cat(text, " is too large for fp32"), "",
              cat("the largest number is ", kLargest));
}

}  // namespace berth
