#include "entrypoint/explain/notebook.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <vector>

#include "entrypoint/explain/shell_text.h"
#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"

namespace berth {
namespace {

// Whether a name may have this character.
bool is_name_character(char c) {
  return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         (c & 0x80) != 0;
}

// The texts of a notebook's code cells. Throws kUsage where the text is no notebook.
std::vector<std::string> code_cells(std::string_view json) {
  const Json notebook = parse_json(json);
  const bool has_cells = notebook.is_object() && notebook.contains("cells");
  if (!has_cells || !notebook.at("cells").is_array()) {
    throw Error(Code::kUsage, "the file is not a Jupyter notebook", "", "save it again");
  }
  std::vector<std::string> texts;
  for (const Json& cell : notebook.at("cells")) {
    if (!cell.is_object() || cell.value("cell_type", Json()) != "code") continue;
    const Json source = cell.value("source", Json());
    std::string text;
    if (source.is_string()) text = source.get<std::string>();
    if (source.is_array()) {
      for (const Json& line : source) {
        if (line.is_string()) text += line.get<std::string>();
      }
    }
    texts.push_back(std::move(text));
  }
  return texts;
}

// Calls `visit(line)` for each line of the text.
template <typename Visit>
void for_each_line(const std::string& text, Visit visit) {
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    visit(text.substr(begin, end - begin));
    begin = end + 1;
  }
}

// {name} as ${name}, as IPython puts the value of a Python name into a command.
std::string with_variables(const std::string& line) {
  std::string text;
  for (size_t at = 0; at < line.size(); ++at) {
    const size_t end = line.find('}', at);
    const bool is_name = line[at] == '{' && end != std::string::npos && end > at + 1 &&
                         (at == 0 || line[at - 1] != '$') &&
                         std::all_of(line.begin() + static_cast<ptrdiff_t>(at) + 1,
                                     line.begin() + static_cast<ptrdiff_t>(end),
                                     [](char c) { return is_name_character(c); });
    if (is_name) text += '$';
    text += line[at];
  }
  return text;
}

// A line that sets a variable of the environment, as a command of a shell: "%env NAME=VALUE",
// os.environ["NAME"] = "VALUE". One that is indented may not run. Empty: the line sets nothing.
std::string setting_in(const std::string& line) {
  constexpr std::string_view kEnvironment = "os.environ[";
  if (line.starts_with("%env ") || line.starts_with("%set_env ")) return line + "\n";
  const size_t begin = std::min(line.find_first_not_of(" \t"), line.size());
  std::string_view rest = std::string_view(line).substr(begin);
  if (!rest.starts_with(kEnvironment)) return "";
  rest.remove_prefix(kEnvironment.size());
  const size_t end = rest.find(']');
  const size_t equals = end == rest.npos ? end : rest.find_first_not_of(" \t", end + 1);
  if (equals == rest.npos || rest[equals] != '=') return "";
  const auto inside = [](std::string_view text) {
    text = trimmed(text.substr(0, text.find('#')));
    const bool is_text = text.size() > 2 && (text[0] == '"' || text[0] == '\'') &&
                         text.find(text[0], 1) == text.size() - 1;
    return is_text ? std::string(text.substr(1, text.size() - 2)) : std::string();
  };
  const std::string name = inside(rest.substr(0, end)), value = inside(rest.substr(equals + 1));
  if (name.empty() || !is_assignment(name + "=") || value.find('\'') != value.npos) return "";
  const std::string_view condition = begin > 0 || value.empty() ? "false && " : "";
  return cat(condition, name, "='", value, "'\n");
}

}  // namespace

std::string notebook_program(std::string_view json) {
  constexpr std::array<std::string_view, 4> kOfPython = {"%%time", "%%capture", "%%prun",
                                                         "%%timeit"};
  std::string program;
  for (const std::string& cell : code_cells(json)) {
    const bool is_python = std::ranges::any_of(
        kOfPython, [&](std::string_view magic) { return cell.starts_with(magic); });
    if (cell.starts_with("%%") && !is_python) continue;  // of another program, as %%bash
    for_each_line(cell, [&](const std::string& line) {
      constexpr std::string_view kDevices = "%env CUDA_VISIBLE_DEVICES=";
      if (line.starts_with(kDevices)) {
        program +=
            cat("os.environ[\"CUDA_VISIBLE_DEVICES\"] = \"", line.substr(kDevices.size()), "\"\n");
      } else if (!line.starts_with('%') && !line.starts_with('!')) {
        program += line + "\n";
      }
    });
  }
  return program;
}

std::string notebook_commands(std::string_view json) {
  std::string commands;
  for (const std::string& cell : code_cells(json)) {
    const bool is_shell =
        cell.starts_with("%%bash") || cell.starts_with("%%sh") || cell.starts_with("%%shell");
    bool goes_on = false;
    for_each_line(cell, [&](const std::string& line) {
      if (!is_shell && !goes_on) commands += setting_in(line);
      const bool is_command = is_shell || goes_on || line.starts_with('!');
      goes_on = is_command && line.ends_with('\\');
      if (!is_command || line.starts_with('%')) return;
      commands += with_variables(line.substr(line.starts_with('!') ? 1 : 0)) + "\n";
    });
  }
  return commands;
}

}  // namespace berth
