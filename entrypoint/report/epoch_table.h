#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace berth {

// One line of the table: an epoch that has ended, or an evaluation inside an epoch. An empty value
// is not known.
struct EpochRow {
  std::string epoch{};   // "1/3"
  std::string update{};  // "113/113" of the epoch, or the number of an update
  std::string time{};    // "1:05"
  std::string rate{};    // examples a second
  std::optional<double> loss{}, eval_loss{};
  std::map<std::string, double> metrics{};
};

// Epochs as a table for people, on a terminal. Not thread-safe.
class EpochTable {
 public:
  // The line of `row`, in at most `columns` columns, but at least 60. Metrics that do not fit are
  // left out. Before the first row, and where other columns begin, a line of headings comes first.
  std::vector<std::string> lines(const EpochRow& row, int columns);

 private:
  std::string heading_;
};

}  // namespace berth
