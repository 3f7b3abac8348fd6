#include "entrypoint/report/html/compare_page.h"
#include "entrypoint/report/html/job_page.h"
#include "entrypoint/report/html/markup.h"
#include "storage/base/bytes.h"
#include "storage/base/text.h"
#include "tests/support/well_formed.h"

// The first byte says what follows: 0 a report, 1 the JSON in one. What is read must be written
// and read again as it is, and a page that shows it must be well-formed.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using berth::JobHistory;
  if (size == 0) return 0;
  const std::string_view text = berth::as_text(std::as_bytes(std::span(data + 1, size - 1)));
  const auto block = [](std::string_view json) {
    return berth::cat(berth::kHistoryBegin, json, berth::kHistoryEnd);
  };
  JobHistory history = JobHistory::from_page(data[0] % 2 == 0 ? text : block(text));
  const std::string json = history.to_json();
  if (JobHistory::from_page(block(berth::json_for_block(json))).to_json() != json) {
    __builtin_trap();
  }
  const std::string curves = berth::curve_section(history, 0.5);
  if (!berth::xml_problem(curves).empty()) __builtin_trap();
  history.begin_attempt(history.total_steps / 2, 0);
  const std::string page = berth::compare_page({{.name = "job", .history = history}}, 0);
  if (!berth::xml_problem(page).empty()) __builtin_trap();
  return 0;
}
