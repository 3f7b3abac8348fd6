#include "trainer/data/cell_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <vector>

#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
namespace {

constexpr std::string_view kMinus = "\xE2\x88\x92";  // U+2212
// The no-break space, the narrow one, the thin space and the figure space.
constexpr std::array<std::string_view, 4> kWideBlanks = {"\xC2\xA0", "\xE2\x80\xAF", "\xE2\x80\x89",
                                                         "\xE2\x80\x87"};
constexpr std::string_view kApostrophe = "\xE2\x80\x99";  // U+2019
constexpr std::array<std::string_view, 6> kUnits = {"%",        "$",        "\xE2\x82\xAC",
                                                    "\xC2\xA3", "\xC2\xA5", "\xE2\x80\xB0"};
// In order of preference where several read the same cells.
constexpr std::array<std::pair<char, char>, 8> kForms = {{{'.', '\0'},
                                                          {',', '\0'},
                                                          {'.', ','},
                                                          {',', '.'},
                                                          {'.', ' '},
                                                          {',', ' '},
                                                          {'.', '\''},
                                                          {',', '\''}}};

void replace_all(std::string& text, std::string_view what, char with) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos;) {
    text.replace(at, what.size(), 1, with);
  }
}

// A number without its unit, with ASCII signs and blanks.
struct Written {
  std::string number, unit;
};

Written written(std::string_view text) {
  std::string plain(trimmed(text));
  for (const std::string_view blank : kWideBlanks) replace_all(plain, blank, ' ');
  replace_all(plain, kMinus, '-');
  replace_all(plain, kApostrophe, '\'');
  std::string_view rest = trimmed(plain);
  std::string sign;
  const auto take_sign = [&] {
    if (!sign.empty() || rest.size() < 2 || (rest[0] != '-' && rest[0] != '+')) return;
    sign = rest.substr(0, 1);
    rest = trimmed(rest.substr(1));
  };
  // Accountants write "(1.5)" for -1.5.
  const auto take_parentheses = [&] {
    if (!sign.empty() || rest.size() < 3 || !rest.starts_with('(') || !rest.ends_with(')')) return;
    sign = "-";
    rest = trimmed(rest.substr(1, rest.size() - 2));
  };
  Written result;
  take_parentheses();
  take_sign();
  for (const std::string_view unit : kUnits) {
    if (rest.size() <= unit.size()) continue;
    if (rest.starts_with(unit)) {
      rest.remove_prefix(unit.size());
    } else if (rest.ends_with(unit)) {
      rest.remove_suffix(unit.size());
    } else {
      continue;
    }
    rest = trimmed(rest);
    result.unit = unit;
    take_parentheses();
    take_sign();
    break;
  }
  // Accounting programs write "1.50-". A grade such as "2-" is no number.
  if (sign.empty() && rest.ends_with('-') && rest.find_first_of(".,") < rest.size() - 2) {
    sign = "-";
    rest = trimmed(rest.substr(0, rest.size() - 1));
  }
  const bool has_digit =
      !rest.empty() && (rest[0] == '.' || rest[0] == ',' || (rest[0] >= '0' && rest[0] <= '9'));
  if (!sign.empty() && !has_digit) return {std::string(text), ""};  // "- 5" of a list, "--1"
  result.number = sign == "-" ? sign + std::string(rest) : std::string(rest);
  return result;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The number in the notation of programs. nullopt: `thousands` does not stand before groups of
// three digits.
std::optional<std::string> ungrouped(std::string_view whole, char thousands) {
  std::string digits;
  const size_t first = std::min(whole.find(thousands), whole.size());
  for (size_t i = 0; i < whole.size(); ++i) {
    if (whole[i] == thousands) {
      const bool is_group = i >= first && (i - first) % 4 == 0 && whole.size() - i >= 4;
      if (!is_group) return std::nullopt;
      continue;
    }
    if (!is_digit(whole[i]) || (i > first && (i - first) % 4 == 0)) return std::nullopt;
    digits += whole[i];
  }
  if (first == whole.size()) return digits;
  const bool is_group =
      first >= 1 && first <= 3 && whole[0] != '0' && (whole.size() - first) % 4 == 0;
  return is_group ? std::optional(digits) : std::nullopt;
}

std::optional<double> finite(std::string_view text) {
  const std::optional<double> number = parse_real(text);
  return number && std::isfinite(*number) ? number : std::nullopt;
}

std::optional<double> parse_written(std::string_view number, char decimal, char thousands) {
  if (decimal == '.' && thousands == '\0') return finite(number);
  const bool is_negative = number.starts_with('-');
  number.remove_prefix(is_negative);
  const size_t mark = std::min(number.find(decimal), number.size());
  std::optional<std::string> digits = std::string(number.substr(0, mark));
  if (thousands != '\0') digits = ungrouped(*digits, thousands);
  if (!digits || !std::ranges::all_of(*digits, is_digit)) return std::nullopt;
  if (mark < number.size()) *digits += cat('.', number.substr(mark + 1));
  if (digits->find_first_of(",' ") != std::string::npos) return std::nullopt;
  const std::optional<double> value = finite(std::string_view(*digits));
  return value && is_negative ? std::optional(-*value) : value;
}

}  // namespace

std::optional<double> parse_number(std::string_view text, const NumberForm& form) {
  const Written number = written(text);
  if (number.unit != form.unit) return std::nullopt;
  return parse_written(number.number, form.decimal, form.thousands);
}

NumbersFound find_numbers(std::span<const Row> rows, size_t column, bool are_texts) {
  NumbersFound found;
  std::vector<std::string> texts;
  size_t typed = 0;
  std::optional<std::string> unit;
  for (const Row& row : rows) {
    const Cell& cell = row[column];
    if (is_missing(cell, are_texts)) continue;
    ++found.cells;
    const auto* text = std::get_if<std::string>(&cell);
    if (text == nullptr) {
      const auto* real = std::get_if<double>(&cell);
      const bool is_number =
          real == nullptr ? !std::holds_alternative<bool>(cell) : std::isfinite(*real);
      typed += is_number;
      found.fractions += real != nullptr && is_number && *real != std::floor(*real);
      if (real != nullptr && is_number && found.example.empty()) found.example = cat(*real);
      continue;
    }
    texts.push_back(*text);
    const Written number = written(*text);
    const bool may_be = number.number.find_first_of("0123456789") != std::string::npos;
    if (!unit && may_be) unit = number.unit;
  }
  // Of each form, the texts that it reads.
  std::array<std::vector<std::optional<double>>, kForms.size()> values;
  std::array<size_t, kForms.size()> counts{};
  for (const std::string& text : texts) {
    const Written number = written(text);
    for (size_t i = 0; i < kForms.size(); ++i) {
      const bool is_one = number.unit == unit.value_or("");
      values[i].push_back(is_one ? parse_written(number.number, kForms[i].first, kForms[i].second)
                                 : std::nullopt);
      counts[i] += values[i].back().has_value();
    }
  }
  const auto best = static_cast<size_t>(std::ranges::max_element(counts) - counts.begin());
  found.form = {
      .decimal = kForms[best].first, .thousands = kForms[best].second, .unit = unit.value_or("")};
  found.numbers = typed + counts[best];
  if (counts[best] == 0) found.form = {};
  for (size_t i = 1; i < kForms.size() && best > 0; ++i) {
    if (counts[i] == counts[best] && values[i] != values[best]) found.is_ambiguous = true;
  }
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::optional<double>& value = values[best][i];
    if (!value) {
      if (found.other.empty()) found.other = texts[i];
      continue;
    }
    const bool is_fraction = *value != std::floor(*value),
               is_plain = parse_real(texts[i]).has_value();
    if (found.example.empty() || (found.has_plain_form && !is_plain) ||
        (found.fractions == 0 && found.has_plain_form && is_fraction)) {
      found.example = texts[i];
    }
    found.has_plain_form = found.has_plain_form && is_plain;
    found.fractions += is_fraction;
  }
  return found;
}

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

std::string_view who_means_missing(std::string_view text) {
  // pandas 2.2, pandas._libs.parsers.STR_NA_VALUES.
  static constexpr std::array<std::string_view, 18> kMissing = {
      "NaN",  "nan", "NA",   "N/A",      "n/a",  "NULL",   "null",    "None",    "<NA>",
      "#N/A", "#NA", "-NaN", "#N/A N/A", "-nan", "1.#IND", "1.#QNAN", "-1.#IND", "-1.#QNAN"};
  static constexpr std::string_view kOfSpreadsheets =
      "#VALUE! #REF! #NAME? #DIV/0! #NUM! #NULL! #SPILL! #CALC! #ERROR!";
  text = trimmed(text);
  if (std::ranges::find(kMissing, text) != kMissing.end()) return "pandas";
  if (is_one_of(kOfSpreadsheets, text)) return "spreadsheets";
  return text == "\\N" ? "MySQL, PostgreSQL and Hive" : "";
}

bool means_missing(std::string_view text) { return !who_means_missing(text).empty(); }

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

namespace {

// The fewest digits that give the number again. Whole numbers have all their digits, because a
// column of ids with a missing one holds doubles in pandas.
std::string real_text(double number) {
  constexpr double kWhole = 9e15;
  if (number == std::floor(number) && std::abs(number) < kWhole) {
    return std::to_string(static_cast<int64_t>(number));
  }
  char digits[32];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, number);
  return {digits, end};
}

}  // namespace

std::optional<std::string> plain_text(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* number = std::get_if<double>(&cell)) return real_text(*number);
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
                cat(text, " has a decimal comma, and numbers with decimal points are read here"),
                "", "write all numbers in one form, best as 1234.5");
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
