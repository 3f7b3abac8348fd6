#include <algorithm>
#include <nlohmann/json.hpp>

#include "entrypoint/explain/python_reader.h"
#include "storage/base/error.h"
#include "storage/base/json.h"

namespace berth {

std::string notebook_program(std::string_view json) {
  const Json notebook = parse_json(json);
  const auto refuse = [] {
    throw Error(Code::kUsage, "the file is not a Jupyter notebook", "", "save it again");
  };
  if (!notebook.is_object() || !notebook.contains("cells")) refuse();
  const Json& cells = notebook.at("cells");
  if (!cells.is_array()) refuse();
  std::string program;
  const auto add = [&](const std::string& lines) {
    for (size_t begin = 0; begin < lines.size();) {
      const size_t end = std::min(lines.find('\n', begin), lines.size());
      const std::string line = lines.substr(begin, end - begin);
      if (!line.starts_with('%') && !line.starts_with('!')) program += line + "\n";
      begin = end + 1;
    }
  };
  for (const Json& cell : cells) {
    if (!cell.is_object() || cell.value("cell_type", Json()) != "code") continue;
    const Json source = cell.value("source", Json());
    if (source.is_string()) add(source.get<std::string>());
    std::string joined;
    if (source.is_array()) {
      for (const Json& line : source) {
        if (line.is_string()) joined += line.get<std::string>();
      }
    }
    add(joined);
  }
  return program;
}

}  // namespace berth
