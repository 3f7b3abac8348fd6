#include "entrypoint/report/html/markup.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "storage/base/clock.h"
#include "storage/base/printable.h"
#include "storage/base/secrets.h"
#include "storage/base/text.h"

namespace berth {
namespace {

bool continues_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

std::string formatted(const char* format, auto... values) {
  char text[64];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

// XML has no place for U+FFFE and U+FFFF, which are "\xEF\xBF\xBE" and "\xEF\xBF\xBF" in UTF-8.
bool is_no_character(std::string_view text, size_t at) {
  return text.substr(at, 2) == "\xEF\xBF" && at + 2 < text.size() &&
         static_cast<unsigned char>(text[at + 2]) >= 0xBE;
}

// "1234567" with commas between the thousands.
std::string grouped(std::string digits) {
  const size_t first = digits.starts_with('-') ? 1 : 0;
  for (size_t at = digits.size(); at > first + 3;) digits.insert(at -= 3, ",");
  return digits;
}

}  // namespace

std::string html_text(std::string_view text, size_t limit) {
  // A secret that begins before the cut is recognized by what stands behind it, too.
  constexpr size_t kBehindCut = 4096;
  std::string known = without_known_secrets(text.substr(0, limit + kBehindCut));
  const bool is_cut = known.size() > limit;
  if (is_cut) {
    size_t end = limit;
    while (end > 0 && continues_character(known[end])) --end;
    known.resize(end);
  }
  const std::string shown = printable(known);
  std::string out;
  out.reserve(shown.size() + shown.size() / 8);
  for (size_t at = 0; at < shown.size(); ++at) {
    switch (shown[at]) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        if (is_no_character(shown, at)) {
          out += "\xEF\xBF\xBD";  // U+FFFD
          at += 2;
        } else {
          out += shown[at];
        }
    }
  }
  return is_cut ? out + "…" : out;
}

std::string isolated(std::string_view text, size_t limit) {
  return cat("<bdi>", html_text(text, limit), "</bdi>");
}

std::string json_for_block(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : printable_json(json)) {
    if (c == '<' || c == '>' || c == '&') {
      out += formatted("\\u%04x", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out;
}

std::string rounded_text(double value, int digits) {
  if (!std::isfinite(value)) return "–";
  const double size = std::abs(value);
  if (size >= 10'000 && size < 1e15) return whole_number(std::llround(value));
  return formatted("%.*g", digits, value);
}

std::string score_text(double value) {
  return std::abs(value) <= 1 ? formatted("%.4f", value) : rounded_text(value);
}

std::string whole_number(int64_t value) { return grouped(std::to_string(value)); }

std::string percent_text(double share) {
  return std::isfinite(share) ? formatted("%.1f %%", 100 * share) : "–";
}

std::string span_of_time(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "–";
  if (seconds < 59.95) return formatted("%.1f s", seconds);
  const int64_t all = std::llround(seconds);
  if (all < 3600) return cat(all / 60, " min ", formatted("%02d s", static_cast<int>(all % 60)));
  const int64_t minutes = (all + 30) / 60;
  return cat(whole_number(minutes / 60), " h ",
             formatted("%02d min", static_cast<int>(minutes % 60)));
}

std::string moment_text(double wall_s) {
  if (!std::isfinite(wall_s) || wall_s <= 0 || wall_s > 1e11) return "–";
  const std::string iso = iso_time(wall_s);  // "2026-01-31T23:59:59.125Z"
  return cat(iso.substr(0, 10), " ", iso.substr(11, 5), " UTC");
}

}  // namespace berth
