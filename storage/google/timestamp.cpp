#include "storage/google/timestamp.h"

#include <chrono>

namespace berth {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Consumes characters from the beginning of a text. After a failure, further calls do no harm;
// is_whole() then returns false.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  int digits(size_t count) {
    int number = 0;
    for (size_t i = 0; i < count; ++i) {
      if (rest_.empty() || !is_digit(rest_[0])) return failed();
      number = 10 * number + (rest_[0] - '0');
      rest_.remove_prefix(1);
    }
    return number;
  }

  char one_of(std::string_view characters) {
    if (rest_.empty() || characters.find(rest_[0]) == std::string_view::npos) {
      return static_cast<char>(failed());
    }
    const char c = rest_[0];
    rest_.remove_prefix(1);
    return c;
  }

  double fraction() {
    if (rest_.empty() || rest_[0] != '.') return 0;
    rest_.remove_prefix(1);
    double value = 0, unit = 0.1;
    if (rest_.empty() || !is_digit(rest_[0])) failed();
    for (; !rest_.empty() && is_digit(rest_[0]); unit /= 10) {
      value += unit * (rest_[0] - '0');
      rest_.remove_prefix(1);
    }
    return value;
  }

  bool is_whole() const { return is_good_ && rest_.empty(); }

 private:
  int failed() {
    is_good_ = false;
    return 0;
  }

  std::string_view rest_;
  bool is_good_ = true;
};

}  // namespace

std::optional<double> parse_timestamp(std::string_view text) {
  Scanner scanner(text);
  const int year = scanner.digits(4);
  scanner.one_of("-");
  const int month = scanner.digits(2);
  scanner.one_of("-");
  const int day = scanner.digits(2);
  scanner.one_of("Tt");
  const int hour = scanner.digits(2);
  scanner.one_of(":");
  const int minute = scanner.digits(2);
  scanner.one_of(":");
  const int second = scanner.digits(2);  // 60 is a leap second
  const double fraction = scanner.fraction();
  const char zone = scanner.one_of("Zz+-");
  int offset_hours = 0, offset_minutes = 0;
  if (zone == '+' || zone == '-') {
    offset_hours = scanner.digits(2);
    scanner.one_of(":");
    offset_minutes = scanner.digits(2);
  }
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!scanner.is_whole() || !date.ok() || hour > 23 || minute > 59 || second > 60 ||
      offset_hours > 23 || offset_minutes > 59) {
    return std::nullopt;
  }
  const double days = std::chrono::sys_days(date).time_since_epoch().count();
  const double offset_s = 3600.0 * offset_hours + 60.0 * offset_minutes;
  return 86400 * days + 3600.0 * hour + 60.0 * minute + second + fraction +
         (zone == '+' ? -offset_s : offset_s);
}

}  // namespace berth
