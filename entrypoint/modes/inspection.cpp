#include "entrypoint/modes/inspection.h"

#include "entrypoint/inspect/inspect.h"
#include "entrypoint/report/standard_output.h"
#include "storage/base/error.h"
#include "storage/base/printable.h"

namespace berth {
namespace {

Inspection look_into(const Job& job, const std::string& path) {
  try {
    return inspect(job.storage, path, job.command_line.settings.data.text_form);
  } catch (const Error& error) {
    throw error.in(Uri::parse(path).to_string());
  }
}

}  // namespace

void run_inspection(Job& job) {
  const ToolOptions& tool = job.command_line.tool;
  StandardOutput output;
  const auto show = [&](const std::string& path) {
    const Inspection inspection = look_into(job, path);
    output.write(as_bytes(tool.json ? printable_json(inspection.json) + "\n"
                                    : printable_lines(inspection.text)));
  };
  show(tool.input);
  for (const std::string& path : tool.further_inputs) {
    if (!tool.json) output.write(as_bytes("\n"));
    show(path);
  }
  output.close();
}

}  // namespace berth
