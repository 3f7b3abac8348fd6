#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "entrypoint/explain/program_names.h"
#include "entrypoint/explain/program_parts.h"
#include "storage/base/text.h"

// How often a program trains: loops, comprehensions and functions are followed back to the program.
namespace berth {
namespace {

using Kind = PythonToken::Kind;

// Functions that call what they get once.
constexpr std::string_view kStarters = "Fire run CLI";
// Methods whose value is a model: "model.to(device).train()".
constexpr std::string_view kModelValues =
    "to cuda cpu float half from_pretrained from_config get_peft_model";

bool names_trainer(const std::string& name) {
  return lower_ascii(name).find("trainer") != name.npos;
}

class RunCounter {
 public:
  RunCounter(const PythonProgram& program, Launch& launch)
      : program_(program), tokens_(program.tokens), launch_(launch), assignments_(program.tokens) {
    std::set<std::string> classes;
    for (const auto& [name, base] : program_.classes) classes.insert(name);
    for (size_t i = 1; i + 1 < tokens_.size(); ++i) {
      if (tokens_[i].kind != Kind::kName) continue;
      if (program_.functions.contains(tokens_[i].text)) note(i);
      if (classes.contains(tokens_[i].text)) note_given(i, false);
    }
  }

  void read() {
    size_t made = 0;
    for (const PythonCall& call : program_.calls) {
      const std::string_view name = last_name(call.name);
      const bool trains = name.ends_with("TrainingArguments") || name.ends_with("Trainer") ||
                          (name == "fit" && call.find("train_objectives") != nullptr);
      if (!trains || call.name.starts_with(kDefinition)) continue;
      if (++made > kDeepest) return refuse_many(name);
      if (runs(call.arguments.begin) > 1) return refuse(std::string(name), call.line);
    }
    size_t trainings = 0, written = 0;
    for (size_t i = 2; i + 1 < tokens_.size(); ++i) {
      if (!is_training(i)) continue;
      if (written == kDeepest) return refuse_many("train");
      const size_t count = tokens_[i + 1].is_sign('(') ? runs(i) : kSeveral;
      if (count > 1) return refuse("train", tokens_[i].line);
      trainings += count;
      ++written;
    }
    check_arguments(written);
    if (trainings <= 1) return;
    launch_.refuse("train", "is called several times; write each training into a file of its own");
  }

  // Whether the program names the method of a Trainer that trains.
  bool names_training() const {
    for (size_t i = 2; i + 1 < tokens_.size(); ++i) {
      if (is_training(i)) return true;
    }
    return false;
  }

 private:
  static constexpr size_t kSeveral = 2, kDeepest = 100;

  struct Mention {
    size_t at = 0;
    bool is_call = false;
  };

  void refuse_many(std::string_view name) {
    launch_.refuse(name, "is called at more than 100 places; write one of them into the program");
  }

  // The last arguments of several are the ones that are read.
  void check_arguments(size_t trainings) {
    size_t made = 0;
    bool are_chosen = false;
    for (const PythonCall& call : program_.calls) {
      if (!call.name.ends_with("TrainingArguments")) continue;
      const size_t at = call.arguments.begin,
                   end = std::min(call.arguments.end + 1, tokens_.size());
      const auto dots = static_cast<size_t>(std::ranges::count(call.name, '.'));
      const size_t before = at - std::min(at, 2 * dots + 3);
      are_chosen = are_chosen || is_conditional(tokens_, at) || tokens_[before].is_name("else") ||
                   tokens_[before].is_name("or") ||
                   (end < tokens_.size() && tokens_[end].is_name("if"));
      ++made;
    }
    if (made < 2 || (!are_chosen && trainings < 2)) return;
    launch_.refuse("TrainingArguments",
                   are_chosen
                       ? "have several cases; write the one that is meant without a condition"
                       : "are made several times, for several trainings; write each training "
                         "into a file of its own");
  }

  void refuse(const std::string& word, size_t line) {
    launch_.refuse(cat(word, " (line ", line, ")"),
                   handed_.empty()
                       ? "trains many models in a loop; write one of them into the program"
                       : cat("belongs to ", handed_,
                             ", which another function gets and may call several times; call it "
                             "once in the program"));
  }

  // A function where the program calls it, or gives it to another one.
  void note(size_t at) {
    const PythonToken &before = tokens_[at - 1], &next = tokens_[at + 1];
    const std::string& name = tokens_[at].text;
    const PythonSpan own = program_.spans.at(name);
    const bool is_method =
        tokens_[own.begin + 3].is_name("self") || tokens_[own.begin + 3].is_name("cls");
    const bool is_inside = at >= own.begin && at < own.end;
    if (before.is_name("def") || before.is_sign('.') != is_method) return;
    if (!is_inside || (!is_method && next.is_sign('('))) note_given(at, is_method);
  }

  // A function, or a class, which runs its __init__().
  void note_given(size_t at, bool is_method) {
    const PythonToken &before = tokens_[at - 1], &next = tokens_[at + 1];
    const std::string& name = tokens_[at].text;
    if (before.is_name("class")) return;
    if (next.is_sign('(')) return mentions_[name].push_back({at, true});
    const bool begins = before.is_sign('(') || before.is_sign(',') || before.is_sign('=') ||
                        before.is_sign('[') || is_method;
    const bool ends =
        next.is_sign(')') || next.is_sign(',') || next.is_sign(']') || next.kind == Kind::kLineEnd;
    const bool is_started = at > 1 && is_one_of(kStarters, tokens_[at - 2].text);
    if (begins && ends && !is_assigned(name, at)) mentions_[name].push_back({at, is_started});
  }

  bool is_assigned(const std::string& name, size_t at) const {
    return std::ranges::any_of(assignments_.scopes_of(at), [&](size_t scope) {
      return assignments_.find(name, scope) != nullptr;
    });
  }

  // How often the program gets to this token: 0, 1, or kSeveral for more.
  size_t runs(size_t at) {
    if (is_repeated(at)) return kSeveral;
    const size_t scope = assignments_.scopes_of(at)[0];
    if (scope == 0) return 1;
    if (const auto known = runs_.find(scope); known != runs_.end()) return known->second;
    if (depth_ == kDeepest) return kSeveral;
    const PythonScope& around = assignments_.scopes()[scope];
    std::string function = around.function;
    if (function.starts_with("__")) {  // which Python calls itself
      const size_t header = find_header(tokens_, around.span.begin, "class");
      const bool is_made = header != std::string::npos && function == "__init__";
      if (!is_made) handed_ = function;
      if (!is_made) return kSeveral;
      function = tokens_[header + 1].text;
    }
    ++depth_;
    runs_[scope] = around.place_of("self") ? 0 : kSeveral;  // of a function that calls itself
    size_t count = 0;
    for (const Mention& mention : mentions_[function]) {
      if (!mention.is_call) handed_ = function;
      count = std::min(count + (mention.is_call ? runs(mention.at) : kSeveral), kSeveral);
    }
    --depth_;
    return runs_[scope] = count;
  }

  bool is_repeated(size_t at) const {
    return is_in_line_of_loop(at) || find_header(tokens_, at, "for while") != std::string::npos;
  }

  // Whether "for", "while" or "lambda" stands before the token in its line or behind it in brackets
  // around it: "[train(seed) for seed in seeds]".
  bool is_in_line_of_loop(size_t at) const {
    size_t depth = 0;
    for (size_t i = at; i > 0 && tokens_[i - 1].kind != Kind::kLineEnd; --i) {
      const PythonToken& token = tokens_[i - 1];
      if (closes(token)) ++depth;
      if (opens(token) && depth > 0) --depth;
      const bool repeats =
          token.is_name("for") || token.is_name("while") || token.is_name("lambda");
      if (depth == 0 && repeats) return true;
    }
    depth = 0;
    for (size_t i = at; i < tokens_.size() && tokens_[i].kind != Kind::kLineEnd; ++i) {
      if (opens(tokens_[i])) ++depth;
      if (closes(tokens_[i]) && depth > 0) --depth;
      if (depth == 0 && tokens_[i].is_name("for")) return true;
    }
    return false;
  }

  // Whether the token is the method of a Trainer that trains: "trainer.train".
  bool is_training(size_t at) const {
    if (!tokens_[at].is_name("train") || !tokens_[at - 1].is_sign('.')) return false;
    if (tokens_[at + 1].is_sign('.') || tokens_[at + 1].is_sign('=')) return false;
    size_t end = at - 1;  // of the receiver
    if (closes(tokens_[end - 1])) {
      const bool is_call = tokens_[end - 1].is_sign(')');
      const size_t open = opening_of(end - 1);
      const std::string name = open == 0 ? "" : tokens_[open - 1].text;
      return is_call ? !is_one_of(kModelValues, name) : names_trainer(name);
    }
    const std::string& name = tokens_[end - 1].text;
    if (names_trainer(name)) return true;
    const bool is_own =
        end > 2 && tokens_[end - 2].is_sign('.') && tokens_[end - 3].is_name("self");
    const std::string variable = is_own ? cat("self.", name) : name;
    for (const size_t scope : assignments_.scopes_of(at)) {
      const std::vector<AssignedValue>* values = assignments_.find(variable, scope);
      if (values == nullptr) continue;
      return std::ranges::any_of(*values, [&](const AssignedValue& value) {
        for (size_t i = value.span.begin; i < value.span.end; ++i) {
          if (names_trainer(tokens_[i].text) && !tokens_[i + 1].is_sign('.')) return true;
        }
        return false;
      });
    }
    return false;
  }

  // The bracket that the one at `at` closes; 0: there is none.
  size_t opening_of(size_t at) const {
    size_t depth = 0;
    for (; at > 0; --at) {
      if (closes(tokens_[at])) ++depth;
      if (opens(tokens_[at]) && --depth == 0) return at;
    }
    return 0;
  }

  const PythonProgram& program_;
  const std::vector<PythonToken>& tokens_;
  Launch& launch_;
  const Assignments assignments_;
  std::map<std::string, std::vector<Mention>> mentions_;  // by functions
  std::map<size_t, size_t> runs_;                         // by scopes
  std::string handed_;  // a function around a training that another function gets
  size_t depth_ = 0;
};

}  // namespace

bool may_train(const PythonProgram& program) {
  Launch unused;
  if (RunCounter(program, unused).names_training()) return true;
  return std::ranges::any_of(program.calls, [](const PythonCall& call) {
    const std::string_view name = call.name;
    if (last_name(name) == "hyperparameter_search") return true;
    const bool is_method = name.ends_with(".train") && name != ".train";
    return is_method && lower_ascii(name).find("model") == name.npos;
  });
}

bool is_of_trainer(const PythonProgram& program, const PythonCall& call, std::string_view method) {
  const std::string_view name = call.name;
  if (!name.ends_with(cat(".", method))) return false;
  const std::string receiver(name.substr(0, name.size() - method.size() - 1));
  if (names_trainer(receiver)) return true;
  const PythonSpan made = find_assigned(program, last_name(receiver));
  for (size_t i = made.begin; i < made.end; ++i) {
    const PythonToken& token = program.tokens[i];
    if (token.kind == Kind::kName && token.text.ends_with("Trainer")) return true;
  }
  return false;
}

void check_runs(const PythonProgram& program, Launch& launch) {
  RunCounter(program, launch).read();
}

}  // namespace berth
