#include "entrypoint/explain/garden_configuration.h"

#include <nlohmann/json.hpp>

#include "entrypoint/explain/option_files.h"
#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
namespace {

void add_options(const OrderedJson& value, const std::string& path, GardenOptions& options) {
  if (!value.is_object()) {
    options[path] = value.is_null() ? "" : option_text(value);
    return;
  }
  for (const auto& [key, item] : value.items()) {
    add_options(item, path.empty() ? key : cat(path, ".", key), options);
  }
}

// Cuts "a.b=1,c=[2,3],d='x,y'" at the commas between options.
std::vector<std::string> override_parts(std::string_view text) {
  std::vector<std::string> parts(1);
  char quote = 0;
  int depth = 0;
  for (const char c : text) {
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '[' || c == ']') {
      depth += c == '[' ? 1 : -1;
    } else if (c == ',' && depth == 0) {
      parts.emplace_back();
      continue;
    }
    parts.back() += c;
  }
  return parts;
}

// A value without its quotes or brackets.
std::string bare_value(std::string_view typed) {
  std::string value(trimmed(typed));
  if (value.size() < 2) return value;
  const char first = value.front(), last = value.back();
  if (first == '[' && last == ']') {
    std::string joined;
    for (const std::string& item : parted(value.substr(1, value.size() - 2), ", '\"")) {
      joined += (joined.empty() ? "" : ",") + item;
    }
    return joined;
  }
  const bool is_quoted = first == last && (first == '\'' || first == '"');
  return is_quoted ? value.substr(1, value.size() - 2) : value;
}

}  // namespace

void add_configuration(const OrderedJson& configuration, GardenOptions& options) {
  add_options(configuration, "", options);
}

void add_overrides(const std::string& text, GardenOptions& options) {
  constexpr const char* kHint = "write them as a.b=1,c.d=2";
  if (text.find('$') != std::string::npos) {
    throw Error(Code::kUsage, "it has a variable that the line does not set", "--params_override",
                kHint);
  }
  if (text.find('=') == std::string::npos || text.starts_with('{')) {
    return add_configuration(parse_options("--params_override", text), options);
  }
  for (const std::string& part : override_parts(text)) {
    const size_t equals = part.find('=');
    if (trimmed(part).empty()) continue;
    if (equals == std::string::npos) {
      throw Error(Code::kUsage, cat(quoted(part), " has no value"), "--params_override", kHint);
    }
    options[std::string(trimmed(std::string_view(part).substr(0, equals)))] =
        bare_value(std::string_view(part).substr(equals + 1));
  }
}

}  // namespace berth
