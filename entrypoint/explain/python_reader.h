#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/base/text.h"

namespace berth {

// A part of a Python program. Blanks, comments and ends of lines inside brackets have no token.
struct PythonToken {
  enum class Kind { kName, kNumber, kText, kUnknownText, kSign, kLineEnd, kEnd };
  Kind kind = Kind::kEnd;
  std::string text{};
  size_t line = 0, column = 0;

  bool is_name(std::string_view name) const { return kind == Kind::kName && text == name; }
  bool is_sign(char sign) const { return kind == Kind::kSign && text[0] == sign; }
};

// A range of a program's tokens.
struct PythonSpan {
  size_t begin = 0, end = 0;
};

// A literal in a Python program, or the value of a name that was assigned one.
struct PythonValue {
  enum class Kind { kText, kWord, kList, kMapping, kUnknown };  // kWord: a number, True, None

  Kind kind = Kind::kUnknown;
  std::string text{};  // of a text or a word
  std::string name{};  // of an unknown value that is a name or a call: "Metric.COSINE", "Loss()"
  std::vector<std::string> keys{};   // of a mapping
  std::vector<PythonValue> items{};  // of a list, a tuple or a mapping

  bool is_known() const { return kind != Kind::kUnknown; }
};

// A call with its arguments: "load_dataset", "AutoModel.from_pretrained", or ".select" of a value
// that has no name.
struct PythonCall {
  std::string name{};
  size_t line = 0;
  std::vector<PythonValue> positional{};
  std::vector<std::pair<std::string, PythonValue>> keywords{};
  std::vector<std::string> inner{};  // the names of the calls inside its arguments
  bool has_lambda = false;           // an argument is a function without a name
  PythonSpan arguments{};            // between its brackets
  std::vector<PythonSpan> spans{};   // of the values of its keywords

  // Its keyword argument of this name; nullptr: it has none.
  const PythonValue* find(std::string_view keyword) const;
};

// Before the name of a function that is defined: its defaults are keywords of such a call.
constexpr std::string_view kDefinition = "def ";

// The most calls inside a call or a function that are kept.
constexpr size_t kMostInner = 100;

struct PythonProgram {
  std::vector<PythonCall> calls{};
  std::vector<PythonToken> tokens{};
  std::vector<std::pair<std::string, std::string>> classes{};      // with their last base
  std::vector<std::pair<std::string, PythonValue>> assignments{};  // "model.max_seq_length"
  std::set<std::string> functions{}, subscripts{};                 // names; texts in brackets
  std::map<std::string, std::vector<std::string>> bodies{};        // the calls inside each function
  std::map<std::string, PythonSpan> spans{};                       // the tokens of each function

  const PythonValue* assigned(std::string_view name) const;
};

// "from_pretrained" for "AutoModel.from_pretrained".
inline std::string_view last_name(std::string_view dotted) {
  return dotted.substr(dotted.rfind('.') + 1);  // 0 without a dot
}

// The value as a flag has it: the items of a list with commas between them.
inline std::string joined(const PythonValue& value) {
  if (value.kind != PythonValue::Kind::kList) return value.text;
  return joined(value.items, ",", &PythonValue::text);
}

// Reads the calls and literals of a Python program and runs nothing. A name that is assigned
// several values, or a value that is computed, is unknown. An f-string of known names is known. Any
// bytes are read. Throws kUsage on a text of more than 1 MiB or 10,000 calls, or with brackets
// nested deeper than 64 levels.
// `options` are the values of what the program reads from its line by argparse: "lr" of "args.lr".
PythonProgram read_python(std::string_view text,
                          const std::map<std::string, PythonValue>& options = {});

// What the program assigns to a name, where it does so once by a statement of its own. Empty: it
// does not, or it also assigns to an item of the name.
PythonSpan find_assigned(const PythonProgram& program, std::string_view name);

// The call that is this value: the call itself, or the one that is assigned to the name. nullptr:
// it is something else.
const PythonCall* find_call_of(const PythonProgram& program, PythonSpan value);

// The keys and values of this value, a mapping of texts: in braces, in DatasetDict({...}), or
// assigned to the name. Empty: it is something else.
std::vector<std::pair<std::string, PythonSpan>> find_entries(const PythonProgram& program,
                                                             PythonSpan value);

// The last call of a function whose name, without what it belongs to, is this. nullptr: there is
// none.
const PythonCall* find_last_call(const PythonProgram& program, std::string_view name);

// The value of a keyword of the last call of this name. Empty: there is none. `place` is where the
// argument stands without its keyword.
PythonSpan find_argument(const PythonProgram& program, std::string_view call,
                         std::string_view keyword, size_t place = SIZE_MAX);

// An argument of a call, as it is written.
struct PythonArgument {
  std::string keyword{};  // empty: it has only its place
  PythonSpan value{};     // never empty
};

// The arguments of a call in their order, without "*all" and "**named". An annotation of a
// parameter counts as its value.
std::vector<PythonArgument> arguments_of(const PythonProgram& program, const PythonCall& call);

// Whether a call has arguments that only the program knows: "*all" or "**named".
bool has_unpacked(const PythonProgram& program, const PythonCall& call);

// The text in brackets in this value, as "test" in rows["test"]. A name counts as what is assigned
// to it. Empty: there is none, or several.
std::string subscript_in(const PythonProgram& program, PythonSpan value);

}  // namespace berth
