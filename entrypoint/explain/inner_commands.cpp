#include <algorithm>
#include <span>

#include "entrypoint/explain/shell_text.h"
#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
namespace {

// The words that stand before a shell are copied for each of its commands.
constexpr size_t kMostCopiedBytes = size_t{16} << 20;

// The variables that options in front of a shell set: `docker run -e NAME=VALUE`, `mpirun -x`.
std::map<std::string, std::string> variables_in(std::span<const std::string> words) {
  std::map<std::string, std::string> variables;
  for (size_t i = 0; i < words.size(); ++i) {
    std::string setting;
    if (words[i].starts_with("--env=")) setting = words[i].substr(6);
    const bool is_option = words[i] == "-e" || words[i] == "--env" || words[i] == "-x";
    if (is_option && i + 1 < words.size()) setting = words[i + 1];
    if (!is_assignment(setting)) continue;
    const size_t equals = setting.find('=');
    variables[setting.substr(0, equals)] = setting.substr(equals + 1);
  }
  return variables;
}

bool is_shell(std::string_view word) {
  const std::string_view name = last_part(word);
  return name == "sh" || name == "bash" || name == "zsh" || name == "dash";
}

}  // namespace

std::vector<ShellCommand> inner_commands(const ShellCommand& command) {
  const std::vector<std::string>& words = command.words;
  for (size_t i = words.size(); i-- > 0;) {
    std::string_view text = words[i];
    if (text.starts_with('-')) text.remove_prefix(std::min(text.find('=') + 1, text.size()));
    if (text.find_first_of(" \t\n") == text.npos) continue;
    size_t prefix = i;
    while (prefix > 0 && words[prefix - 1].starts_with('-')) --prefix;  // "-c", "-lc"
    if (prefix == 0 || !is_shell(words[prefix - 1])) {
      prefix = i;
    } else {
      --prefix;
    }
    std::vector<ShellCommand> inner;
    try {
      inner = shell_commands(text, variables_in(std::span(words).first(prefix)));
    } catch (const Error&) {  // prose, such as "it's done"
      return {};
    }
    size_t bytes = sizeof(ShellCommand);
    for (size_t word = 0; word < prefix; ++word) bytes += words[word].size();
    for (const std::string& setting : command.environment) bytes += setting.size();
    if (bytes > kMostCopiedBytes / std::max<size_t>(inner.size(), 1)) return {};
    for (ShellCommand& one : inner) {
      one.words.insert(one.words.begin(), words.begin(),
                       words.begin() + static_cast<ptrdiff_t>(prefix));
      one.environment.insert(one.environment.begin(), command.environment.begin(),
                             command.environment.end());
      one.earlier_settings.insert(one.earlier_settings.begin(), command.earlier_settings.begin(),
                                  command.earlier_settings.end());
      one.batch_options = command.batch_options;
    }
    return inner;
  }
  return {};
}

}  // namespace berth
