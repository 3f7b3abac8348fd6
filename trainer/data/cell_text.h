#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "storage/formats/row_reader.h"

namespace berth {

// How the numbers of a column are written. The default is 1234.5, as programs write it.
struct NumberForm {
  char decimal = '.';  // or ','
  // What may stand between groups of three digits: '.', ',', '\'', ' ' (any blank of Unicode that
  // people use for it), or 0 for nothing.
  char thousands = '\0';
  std::string unit{};  // what stands before or behind each number: "%", "$", "€"; mostly empty
  bool operator==(const NumberForm&) const = default;
};

// The finite number that the whole text is, apart from blanks around it. A minus sign may be
// U+2212, may follow a number with a fraction, or may be parentheses: "(1.5)". nullopt: the text is
// not a number of this form.
std::optional<double> parse_number(std::string_view text, const NumberForm& form);

// What the cells of a column show.
struct NumbersFound {
  NumberForm form{};           // the one that reads the most cells
  size_t cells = 0;            // without missing cells
  size_t numbers = 0;          // cells that are numbers of `form`
  size_t fractions = 0;        // numbers that have a fractional part
  bool is_ambiguous = false;   // another form reads the same number of cells, with other values
  bool has_plain_form = true;  // whether every number has the form in which programs write numbers
  std::string example{};       // a text that is a number, if possible with a fraction or a mark
  std::string other{};         // the first text that is not a number

  bool are_all() const { return cells > 0 && numbers == cells; }
  // Whether at least three quarters of the cells are numbers, so that the others must be errors.
  // False if the first other text has a comma, because it may be several labels.
  bool are_most() const {
    return numbers > 0 && numbers * 4 >= cells * 3 && other.find(',') == std::string::npos;
  }
};

// `are_texts`: all cells are texts (RowReader::is_of_texts).
NumbersFound find_numbers(std::span<const Row> rows, size_t column, bool are_texts);

struct NumberForm;

// Whether a text of a CSV file means that the value is missing: as pandas' read_csv() takes it by
// default ("NA", "nan", "NULL", "None", "N/A", "#N/A", ...), as databases write it ("\N"), or as an
// error of a spreadsheet ("#REF!").
bool means_missing(std::string_view text);
// The program that means it so, for messages; empty: none does.
std::string_view who_means_missing(std::string_view text);
// Whether a cell is missing or blank. `are_texts` (RowReader::is_of_texts): means_missing() counts.
bool is_missing(const Cell& cell, bool are_texts);

// A cell of a table as text. nullopt: the cell is missing.
std::optional<std::string> plain_text(const Cell& cell);
// A cell as the name of a class, without blanks around it. nullopt: the cell is missing, blank or
// nan. Throws kBadData for a fractional number, which is no class.
std::optional<std::string> label_text(const Cell& cell);
// A cell as a number. nullopt: the cell is missing, blank or nan. Throws kBadData where it is not a
// number of this form or is too large for fp32.
std::optional<double> cell_number(const Cell& cell, const NumberForm& form);
std::optional<double> cell_number(const Cell& cell);

// The text of a number as std::from_chars() accepts it: without the blanks around it and without a
// plus sign.
std::string_view number_text(std::string_view text);
// The number that the whole text is, apart from blanks around it. nullopt: it is not a number.
std::optional<double> parse_real(std::string_view text);

}  // namespace berth
