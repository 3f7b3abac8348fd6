#include "trainer/data/accepted_rows.h"

#include "trainer/data/cell_text.h"

namespace berth {

std::optional<size_t> find_answer(std::span<const Column> columns, std::span<const Row> rows,
                                  const ColumnChoice& choice) {
  constexpr std::string_view kName = "answer";
  if (choice.text == kName || choice.text_pair == kName || choice.label == kName) return {};
  const auto column = find_column(columns, kName);
  bool has_any = false;
  for (size_t i = 0; column && i < rows.size(); ++i) {
    const std::optional<std::string> answer = plain_text(rows[i][*column]);
    if (!answer) continue;
    if (*answer != "accept" && *answer != "reject" && *answer != "ignore") return std::nullopt;
    has_any = true;
  }
  return has_any ? column : std::nullopt;
}

bool is_refusal(const Cell& cell) {
  const std::optional<std::string> answer = plain_text(cell);
  return answer && *answer != "accept";
}

}  // namespace berth
