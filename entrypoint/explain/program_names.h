#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "entrypoint/explain/python_reader.h"

namespace berth {

inline bool opens(const PythonToken& token) {
  return token.is_sign('(') || token.is_sign('[') || token.is_sign('{');
}
inline bool closes(const PythonToken& token) {
  return token.is_sign(')') || token.is_sign(']') || token.is_sign('}');
}

// A function, or the program around its functions, whose names are its own.
struct PythonScope {
  std::string function{};  // empty: the program
  PythonSpan span{};
  size_t around = 0;  // the scope that this one stands in
};

// What is assigned to a name.
struct AssignedValue {
  PythonSpan span{};
  bool is_changed = false;  // by "+=" and its kind
};

// The assignments of a program, by the names that they assign to. An attribute of `self` is a name.
// Refers to the program.
class Assignments {
 public:
  explicit Assignments(const PythonProgram& program);

  // The first one is the program.
  const std::vector<PythonScope>& scopes() const { return scopes_; }

  // The scopes around a token, the innermost first.
  std::vector<size_t> scopes_of(size_t at) const;

  // The values that a scope assigns to a name; nullptr: none. An attribute of `self` belongs to the
  // program.
  const std::vector<AssignedValue>* find(const std::string& name, size_t scope) const;

  // The places where attributes of names are set, and items of what they hold: "a[0].b = 1".
  const std::vector<std::pair<std::string, PythonSpan>>& changed_parts() const { return parts_; }

  // The local names of what other modules hold, with the first part of the module's name.
  const std::map<std::string, std::string>& imports() const { return imports_; }

 private:
  void note_line(size_t begin, size_t end);
  void note_import(size_t begin, size_t end);
  void note_statement(size_t begin, size_t end);
  void note_targets(PythonSpan targets, const AssignedValue& value);
  void note_target(PythonSpan target, const AssignedValue& value);
  size_t find_word(size_t begin, size_t end, std::string_view word) const;
  bool is_sign_of(size_t at, std::string_view signs) const;
  std::vector<PythonSpan> parted_by_commas(PythonSpan span) const;

  const std::vector<PythonToken>& tokens_;
  std::vector<PythonScope> scopes_;
  std::map<std::pair<std::string, size_t>, std::vector<AssignedValue>> values_;  // name and scope
  std::vector<std::pair<std::string, PythonSpan>> parts_;
  std::map<std::string, std::string> imports_;
};

}  // namespace berth
