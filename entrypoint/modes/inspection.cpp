#include "entrypoint/modes/inspection.h"

#include "entrypoint/inspect/inspect.h"
#include "entrypoint/report/standard_output.h"
#include "storage/base/error.h"
#include "storage/base/printable.h"

namespace berth {

void run_inspection(Job& job) {
  const ToolOptions& tool = job.command_line.tool;
  Inspection inspection;
  try {
    inspection = inspect(job.storage, tool.input, job.command_line.settings.data.text_form);
  } catch (const Error& error) {
    if (error.where().starts_with(tool.input)) throw;
    throw error.at(tool.input);
  }
  StandardOutput output;
  output.write(as_bytes(tool.json ? printable_json(inspection.json) + "\n"
                                  : printable_lines(inspection.text)));
  output.close();
}

}  // namespace berth
