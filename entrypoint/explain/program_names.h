#pragma once

#include <cstddef>
#include <map>
#include <optional>
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

// The line whose block the token belongs to, inside its function, and that begins with one of
// `words`; npos: there is none. "if __name__ ..." is no such line.
size_t find_header(const std::vector<PythonToken>& tokens, size_t at, std::string_view words);

// Whether the token belongs to a block of "if", "else", "try" or their kind, inside its function.
inline bool is_conditional(const std::vector<PythonToken>& tokens, size_t at) {
  constexpr std::string_view kConditions = "if elif else try except finally case";
  return find_header(tokens, at, kConditions) != std::string::npos;
}

// A function, or the program around its functions, whose names are its own.
struct PythonScope {
  std::string function{};  // empty: the program
  PythonSpan span{};
  size_t around = 0;                                    // the scope that this one stands in
  std::vector<std::string> parameters{};                // in their order, without "*" before them
  std::map<std::string, size_t, std::less<>> places{};  // of the parameters
  bool is_plain = true;                                 // it has no decorator, "/", "*" or "**"

  // The place of a parameter; nullopt: the function has none of this name.
  std::optional<size_t> place_of(std::string_view parameter) const;
};

// What is assigned to a name.
struct AssignedValue {
  PythonSpan span{};
  bool is_changed = false;  // by "+=" and its kind
  bool is_plain = false;    // the line is "name = value"
};

// The assignments of a program, by the names that they assign to. An attribute of `self` is a name.
// Refers to the tokens.
class Assignments {
 public:
  explicit Assignments(const std::vector<PythonToken>& tokens);

  // The first one is the program.
  const std::vector<PythonScope>& scopes() const { return scopes_; }

  // The scopes around a token, the innermost first.
  std::vector<size_t> scopes_of(size_t at) const;

  // The values that a scope assigns to a name; nullptr: none. An attribute of `self` belongs to the
  // program.
  const std::vector<AssignedValue>* find(const std::string& name, size_t scope) const;

  // Where a scope first assigns to a name in another way than "name = value"; npos: nowhere.
  size_t first_other(const std::string& name, size_t scope) const;

  // Whether all assignments to a name, in any scope, are lines of their own: "name = value".
  bool is_plain(const std::string& name) const;

  // The places where attributes of names are set, and items of what they hold: "a[0].b = 1".
  const std::vector<std::pair<std::string, PythonSpan>>& changed_parts() const { return parts_; }

  // The local names of what other modules hold, with the first part of the module's name.
  const std::map<std::string, std::string>& imports() const { return imports_; }

 private:
  void find_scopes();
  void note_line(size_t begin, size_t end);
  void note_import(size_t begin, size_t end);
  void note_statement(size_t begin, size_t end, bool is_line);
  void note_targets(PythonSpan targets, const AssignedValue& value,
                    const std::vector<PythonSpan>& values = {});
  void note_target(PythonSpan target, const AssignedValue& value);
  size_t find_word(size_t begin, size_t end, std::string_view word) const;
  bool is_sign_of(size_t at, std::string_view signs) const;
  std::vector<PythonSpan> parted_by_commas(PythonSpan span) const;

  const std::vector<PythonToken>& tokens_;
  std::vector<PythonScope> scopes_;
  std::map<std::pair<std::string, size_t>, std::vector<AssignedValue>> values_;  // name and scope
  std::map<std::pair<std::string, size_t>, size_t> first_others_;
  std::vector<std::pair<std::string, PythonSpan>> parts_;
  std::map<std::string, std::string> imports_;
  size_t all_imported_ = 0;  // the last "from a import *" of a file, which may set any name
};

}  // namespace berth
