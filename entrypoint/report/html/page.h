#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace berth {

// Pieces of HTML that are also well-formed XML. Texts of data, labels, paths and settings are
// hostile: they get into a page through these functions and by no other way.

// `text` as the content of an element or of a quoted attribute, whatever it holds. Markup is
// escaped. Control characters, bidirectional controls and bytes that are not UTF-8 become visible,
// as printable() writes them. Known secrets are removed. More than `limit` bytes are cut, between
// characters, and "…" marks the cut.
inline constexpr size_t kTextLimit = 300;
std::string html_text(std::string_view text, size_t limit = kTextLimit);

// The same in <bdi>, so that a text that runs from right to left does not reorder its surroundings.
std::string isolated(std::string_view text, size_t limit = kTextLimit);

// A JSON value for a data block <script type="application/json">: "<", ">" and "&" become \u003c,
// \u003e and \u0026, so that the block is also XML and nothing in it ends it.
std::string json_for_block(std::string_view json);

// `value` with this number of significant digits.
double rounded(double value, int digits);

// Numbers for people: 0.03125, 12,345, 1.25e-05. "–" where the value is not finite.
std::string rounded_text(double value, int digits = 4);
// A score or a probability: four decimals from -1 to 1, so that columns align, else as above.
std::string score_text(double value);
std::string whole_number(int64_t value);   // "1,234,567"
std::string percent_text(double share);    // 0.9512 becomes "95.1 %"
std::string span_of_time(double seconds);  // "2 h 05 min", "3 min 20 s", "12.5 s"
// "2026-01-31 23:59 UTC", from the seconds of wall_clock_s().
std::string moment_text(double wall_s);

// A whole HTML page, which is also well-formed XML. It holds its style, refers to nothing outside
// of itself, and runs no script: its content security policy forbids both. `title` is text, which
// is escaped here; `body` is markup. `data` is a block of JSON (json_for_block()), or empty.
std::string html_page(std::string_view title, std::string_view body, std::string_view data = {});

// A section with its heading. Empty where `content` is.
std::string section(std::string_view heading, std::string_view content);

// A wide table in a frame that scrolls sideways, and that the keyboard reaches. `name` is text for
// screen readers.
std::string scrolling(std::string_view name, std::string_view table);

}  // namespace berth
