#include "entrypoint/explain/given_values.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

#include "entrypoint/explain/program_names.h"
#include "storage/base/text.h"

namespace berth {
namespace {

using CallsByName = std::map<std::string, std::vector<const PythonCall*>>;

bool is_equal(const PythonValue& one, const PythonValue& other) {
  return one.kind == other.kind && one.text == other.text && one.keys == other.keys &&
         std::ranges::equal(one.items, other.items, is_equal);
}

// What the calls of a function give for a parameter.
struct Given {
  const PythonValue* value = nullptr;  // the first one
  size_t count = 0;                    // of the calls that give one
  bool is_same = true;

  void see(const PythonValue& other) {
    if (value == nullptr) value = &other;
    is_same = is_same && is_equal(*value, other);
    ++count;
  }
};

// Adds the values that the parameters of a function get. Each argument is looked at once.
void add_values(const PythonProgram& program, const PythonScope& scope, CallsByName& calls,
                GivenValues& values) {
  const std::vector<const PythonCall*>& definition = calls[cat(kDefinition, scope.function)];
  if (definition.size() != 1) return;
  const bool is_method = scope.place_of("self") || scope.place_of("cls");
  std::map<std::string_view, Given> given;
  size_t count = 0;  // of the calls
  for (const PythonCall* call : calls[scope.function]) {
    if ((call->name.find('.') != std::string::npos) != is_method) continue;
    if (has_unpacked(program, *call)) return;
    ++count;
    const size_t first = is_method ? 1 : 0;
    for (size_t i = 0; i < call->positional.size() && first + i < scope.parameters.size(); ++i) {
      given[scope.parameters[first + i]].see(call->positional[i]);
    }
    for (const auto& [name, value] : call->keywords) given[name].see(value);
  }
  for (const auto& [name, value] : definition[0]->keywords) {
    if (given[name].count < count) given[name].see(value), given[name].count = count;
  }
  for (const std::string& name : scope.parameters) {
    const Given& found = given[name];
    const bool is_known = count > 0 && found.count == count && found.value->is_known();
    if (is_known && found.is_same) values[{scope.function, name}] = *found.value;
  }
}

}  // namespace

GivenValues given_values(const PythonProgram& program) {
  const std::vector<PythonToken>& tokens = program.tokens;
  CallsByName calls;
  for (const PythonCall& call : program.calls) {
    calls[std::string(last_name(call.name))].push_back(&call);
  }
  std::set<std::string_view> handed;
  for (size_t i = 1; i + 1 < tokens.size(); ++i) {
    if (tokens[i].kind == PythonToken::Kind::kName && !tokens[i + 1].is_sign('(')) {
      handed.insert(tokens[i].text);
    }
  }
  GivenValues values;
  const Assignments assignments(tokens);
  for (const PythonScope& scope : assignments.scopes()) {
    const bool is_called_otherwise = !scope.is_plain || scope.function.starts_with("__");
    if (is_called_otherwise || handed.contains(scope.function)) continue;
    add_values(program, scope, calls, values);
  }
  return values;
}

}  // namespace berth
