#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "entrypoint/explain/explain.h"
#include "entrypoint/explain/notebook.h"
#include "entrypoint/explain/python_job.h"
#include "entrypoint/explain/python_reader.h"
#include "entrypoint/report/html/compare_page.h"
#include "entrypoint/report/html/job_page.h"
#include "entrypoint/report/html/page.h"
#include "storage/base/text.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/well_formed.h"

namespace berth {
namespace {

// The kind says what follows: 0 a report, 1 the JSON in one. What is read must be written and read
// again as it is, and a page that shows it must be well-formed.
void read_report(uint8_t kind, Bytes input) {
  const std::string_view text = as_text(input);
  const auto block = [](std::string_view json) { return cat(kHistoryBegin, json, kHistoryEnd); };
  JobHistory history = JobHistory::from_page(kind % 2 == 0 ? text : block(text));
  const std::string json = history.to_json();
  require(JobHistory::from_page(block(json_for_block(json))).to_json() == json);
  const std::string curves = curve_section(history, 0.5);
  require(xml_problem(curves).empty());
  history.begin_attempt(history.total_steps / 2, 0);
  const std::string page = compare_page({{.name = "job", .history = history}}, 0);
  require(xml_problem(page).empty());
}

void report(Bytes input) { read_chosen(input, read_report); }

// 0: a manifest, 1: a Python program, 2: a notebook.
void read_options(uint8_t kind, Bytes input) {
  may_refuse([&] {
    if (kind % 3 == 0) {
      const ReadFile read_file = [&](const std::string& path) {
        return path == "dvc.yaml" ? std::optional(std::string(as_text(input))) : std::nullopt;
      };
      explain(std::vector<std::string>{"dvc.yaml"}, {.devices = {}, .read_file = read_file});
    }
    std::vector<std::string> flags = {"--lr", "1"};
    if (kind % 3 == 1) find_python_job(as_text(input), flags);
    if (kind % 3 == 2) read_python(notebook_program(as_text(input)));
    if (kind % 3 == 2) notebook_commands(as_text(input));
  });
}

void explained_file(Bytes input) { read_chosen(input, read_options); }

const FuzzTargets kEntrypointTargets = {{"explained_file", explained_file}, {"report", report}};

}  // namespace
}  // namespace berth
