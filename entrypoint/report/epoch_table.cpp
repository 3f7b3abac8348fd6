#include "entrypoint/report/epoch_table.h"

#include <algorithm>

#include "entrypoint/report/bar_line.h"

namespace berth {
namespace {

// `text` at the right end of `width` columns.
std::string padded(const std::string& text, size_t width) {
  return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}

std::string four_digits(const std::optional<double>& value) {
  return value ? number_text("%.4f", *value) : "-";
}

}  // namespace

std::vector<std::string> EpochTable::lines(const EpochRow& row, int columns) {
  std::string heading, line;
  const auto add = [&](const std::string& name, const std::string& value, size_t width) {
    heading += padded(name, width);
    line += padded(value.empty() ? "-" : value, width);
  };
  add("epoch", row.epoch, 7);
  add("update", row.update, 12);
  add("time", row.time, 8);
  add("ex/s", row.rate, 7);
  add("loss", four_digits(row.loss), 8);
  add("eval loss", four_digits(row.eval_loss), 11);
  const auto most = static_cast<size_t>(std::max(columns, 60));
  for (const auto& [name, value] : row.metrics) {
    const size_t width = std::max<size_t>(name.size(), 6) + 2;
    if (heading.size() + width > most) break;
    add(name, number_text("%.4f", value), width);
  }
  std::vector<std::string> lines;
  if (heading != heading_) lines.push_back(heading_ = heading);
  lines.push_back(line);
  return lines;
}

}  // namespace berth
