#include "entrypoint/explain/python_reader.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "entrypoint/explain/given_values.h"
#include "entrypoint/explain/program_names.h"
#include "storage/base/error.h"
#include "storage/base/text.h"
#include "trainer/data/cell_text.h"

namespace berth {
namespace {

constexpr size_t kMostProgramBytes = size_t{1} << 20, kDeepestBracket = 64, kMostCalls = 10'000;

bool begins_name(char c) {
  return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c & 0x80) != 0;
}
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Cuts a program into tokens. Ends of lines inside brackets are not tokens.
class PythonScanner {
 public:
  explicit PythonScanner(std::string_view text) : text_(text) {}

  std::vector<PythonToken> scan() {
    while (at_ < text_.size()) scan_next();
    add(PythonToken::Kind::kLineEnd, "");
    add(PythonToken::Kind::kEnd, "");
    return std::move(tokens_);
  }

 private:
  using Kind = PythonToken::Kind;

  char next(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : 0; }
  void add(Kind kind, std::string text) {
    tokens_.push_back({kind, std::move(text), line_, column_});
  }

  void scan_next() {
    const char c = next();
    column_ = at_ - line_begin_;
    if (c == '\n') {
      if (open_ == 0) add(Kind::kLineEnd, "");
      ++line_;
      line_begin_ = ++at_;
    } else if (c == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (c == '\\' && (next(1) == '\n' || next(1) == '\r')) {
      at_ = std::min(text_.find('\n', at_), text_.size());
      if (at_ < text_.size()) line_begin_ = ++at_, ++line_;
    } else if (c == '"' || c == '\'') {
      scan_text(false, false);
    } else if (begins_name(c)) {
      scan_name();
    } else if (is_digit(c) || (c == '.' && is_digit(next(1)))) {
      scan_number();
    } else {
      if (c == '(' || c == '[' || c == '{') ++open_;
      if ((c == ')' || c == ']' || c == '}') && open_ > 0) --open_;
      if (open_ > kDeepestBracket) {
        throw Error(Code::kUsage, "brackets nest deeper than 64 levels", cat("line ", line_),
                    "give the options as flags");
      }
      if (c != ' ' && c != '\t' && c != '\r') add(Kind::kSign, std::string(1, c));
      ++at_;
    }
  }

  void scan_name() {
    const size_t begin = at_;
    while (at_ < text_.size() && (begins_name(next()) || is_digit(next()))) ++at_;
    std::string name(text_.substr(begin, at_ - begin));
    const bool is_prefix = (next() == '"' || next() == '\'') && name.size() <= 2;
    if (!is_prefix) return add(Kind::kName, std::move(name));
    const std::string prefix = lower_ascii(name);
    scan_text(prefix.find('f') != std::string::npos, prefix.find('r') != std::string::npos);
  }

  void scan_number() {
    const size_t begin = at_;
    while (at_ < text_.size() && (begins_name(next()) || is_digit(next()) || next() == '.' ||
                                  ((next() == '-' || next() == '+') &&
                                   (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E')))) {
      ++at_;
    }
    std::string number(text_.substr(begin, at_ - begin));
    std::erase(number, '_');
    add(Kind::kNumber, std::move(number));
  }

  void scan_text(bool is_formatted, bool is_raw) {
    const char quote = next();
    const bool is_long = next(1) == quote && next(2) == quote;
    at_ += is_long ? 3 : 1;
    std::string text;
    while (at_ < text_.size()) {
      const char c = next();
      if (c == quote && (!is_long || (next(1) == quote && next(2) == quote))) break;
      if (c == '\n') {
        if (!is_long) break;  // an error in Python
        ++line_;
        line_begin_ = at_ + 1;
      }
      if (c == '\\' && !is_raw && at_ + 1 < text_.size()) {
        ++at_;
        text += next() == 'n' ? '\n' : next() == 't' ? '\t' : next();
      } else {
        text += c;
      }
      ++at_;
    }
    at_ = std::min(at_ + (is_long ? 3 : 1), text_.size());
    const bool is_unknown = is_formatted && text.find('{') != std::string::npos;
    add(is_unknown ? Kind::kUnknownText : Kind::kText, std::move(text));
  }

  std::string_view text_;
  size_t at_ = 0, line_ = 1, line_begin_ = 0, column_ = 0, open_ = 0;
  std::vector<PythonToken> tokens_;
};

// The bytes that a copy of the value takes, or more than `limit`.
size_t copied_bytes(const PythonValue& value, size_t limit) {
  size_t bytes = sizeof(PythonValue) + value.text.size();
  for (const std::string& key : value.keys) bytes += key.size() + sizeof key;
  for (const PythonValue& item : value.items) {
    if (bytes > limit) break;
    bytes += copied_bytes(item, limit - bytes);
  }
  return bytes;
}

class PythonParser {
 public:
  // `options` and `given`: the values of "args.lr", by "lr", and of parameters.
  PythonParser(std::vector<PythonToken> tokens, const std::map<std::string, PythonValue>& options,
               const GivenValues& given)
      : tokens_(std::move(tokens)), assignments_(tokens_), options_(options), given_(given) {
    for (const auto& [name, part] : assignments_.changed_parts()) {
      const bool is_own = name.find('.') != std::string::npos;  // "self.args"
      for (size_t i = part.begin + (is_own ? 3 : 1); i < part.end; ++i) {
        changed_.insert(tokens_[i].text);
      }
    }
  }

  PythonProgram read() {
    while (peek().kind != Kind::kEnd) read_statement();
    while (!open_.empty()) close_function();
    for (auto& [name, value] : program_.assignments) {
      const bool is_part = name.find('.') != std::string::npos;
      if (!is_part && !assignments_.is_plain(name)) value = PythonValue();
    }
    program_.tokens = std::move(tokens_);
    return std::move(program_);
  }

 private:
  using Kind = PythonToken::Kind;

  const PythonToken& peek(size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  bool is_sign(char sign, size_t ahead = 0) const {
    return peek(ahead).kind == Kind::kSign && peek(ahead).text[0] == sign;
  }
  void advance() {
    if (at_ + 1 < tokens_.size()) ++at_;
  }

  void read_statement() {
    if (peek().kind != Kind::kLineEnd) {
      while (!open_.empty() && peek().column <= open_.back().column) close_function();
    }
    if (peek().is_name("class") && peek(1).kind == Kind::kName) note_class();
    if (peek().is_name("def") && peek(1).kind == Kind::kName) open_function();
    std::string name;
    size_t ahead = 0;
    if (peek().kind == Kind::kName) name = dotted_name(ahead);
    const bool is_assignment = !name.empty() && is_sign('=', ahead) && !is_sign('=', ahead + 1);
    const bool changes = !name.empty() && is_sign('=', ahead + 1) &&
                         (is_sign('+', ahead) || is_sign('-', ahead) || is_sign('*', ahead) ||
                          is_sign('/', ahead) || is_sign('%', ahead));
    if (changes) assign(name, PythonValue());
    if (is_assignment) {
      for (size_t i = 0; i <= ahead; ++i) advance();
      assign(name, read_value());
    }
    while (peek().kind != Kind::kLineEnd && peek().kind != Kind::kEnd) skip_one();
    advance();
  }

  void note_class() {
    std::string base;
    for (size_t i = 2; is_sign('(', 2) && peek(i).kind != Kind::kLineEnd && !is_sign(')', i); ++i) {
      if (peek(i).kind == Kind::kName && !is_sign('=', i + 1)) base = peek(i).text;
    }
    program_.classes.emplace_back(peek(1).text, base);
  }

  void open_function() {
    const std::string function = peek(1).text;
    const size_t line = peek().line, column = peek().column, begin = at_;
    program_.functions.insert(function);
    advance();
    advance();
    if (is_sign('(')) read_call(cat(kDefinition, function), line);
    open_.push_back({function, column, begin});
    program_.bodies[function];
  }

  void close_function() {
    program_.spans[open_.back().name] = {open_.back().begin, at_};
    open_.pop_back();
  }

  static bool is_same(const PythonValue& one, const PythonValue& other) {
    return one.kind == other.kind && one.text == other.text && one.name == other.name &&
           one.items.empty() && other.items.empty();
  }

  void assign(const std::string& name, PythonValue value) {
    const bool is_part = name.find('.') != std::string::npos;
    Variable& variable = variables_[{name, is_part ? 0 : assignments_.scopes_of(at_)[0]}];
    const auto known = places_.find(name);
    if (known == places_.end()) {
      if (option_of(name) != nullptr) value = PythonValue();  // which had another value
      places_[name] = program_.assignments.size();
      program_.assignments.emplace_back(name, value);
    } else if (PythonValue& first = program_.assignments[known->second].second;
               !is_same(first, value)) {
      first = PythonValue();
    }
    if (variable.count++ == 0) {
      variable.value = std::move(value);
    } else if (!is_same(variable.value, value)) {
      variable.value = PythonValue();
    }
  }

  // The option "lr" for "args.lr", where `args` are options; nullptr: it is something else.
  const PythonValue* option_of(const std::string& name) const {
    const size_t dot = name.find('.');
    if (dot == std::string::npos) return nullptr;
    const auto option = options_.find(name.substr(dot + 1));
    const auto owner = places_.find(name.substr(0, dot));
    if (option == options_.end()) return nullptr;
    if (owner == places_.end()) {
      return names_options(name.substr(0, dot)) ? &option->second : nullptr;
    }
    std::string maker = program_.assignments[owner->second].second.name;
    if (maker.ends_with("parse_args()")) return &option->second;
    if (maker.ends_with("()")) maker.resize(maker.size() - 2);
    const auto body = program_.bodies.find(maker);
    const bool parses =
        body != program_.bodies.end() && std::ranges::any_of(body->second, [](const auto& call) {
          return call.ends_with("parse_args") || call.ends_with("parse_known_args");
        });
    return parses ? &option->second : nullptr;
  }

  // Whether a name that a function gets, or that stands beside others, is one of options.
  static bool names_options(const std::string& name) {
    const std::string text = lower_ascii(name);
    return text.find("arg") != text.npos || text.find("opt") != text.npos || text == "flags";
  }

  PythonValue value_of(const std::string& name) {
    const PythonValue* value = nullptr;
    if (name.find('.') == std::string::npos) {
      value = value_here(name);
    } else if (const auto known = variables_.find({name, 0}); known != variables_.end()) {
      value = &known->second.value;
    } else if (!changed_.contains(std::string(last_name(name)))) {
      value = option_of(name);
    }
    if (value == nullptr) return {};
    // A name may stand in lists that stand in others, so that copies are limited.
    const size_t bytes = copied_bytes(*value, copies_left_);
    if (bytes > copies_left_) return {};
    copies_left_ -= bytes;
    return *value;
  }

  // The value of a name where the parser is, which loops, parts of tuples and the program around a
  // function may set, too. nullptr: it may have several.
  const PythonValue* value_here(const std::string& name) const {
    const std::vector<size_t> scopes = assignments_.scopes_of(at_);
    for (const size_t scope : scopes) {
      const std::vector<AssignedValue>* values = assignments_.find(name, scope);
      if (assignments_.scopes()[scope].place_of(name)) {
        const auto given = given_.find({assignments_.scopes()[scope].function, name});
        return values == nullptr && given != given_.end() ? &given->second : nullptr;
      }
      if (values == nullptr) continue;
      const bool is_inside = scope != scopes[0];
      const bool is_other =
          assignments_.first_other(name, scope) < (is_inside ? std::string::npos : at_);
      const auto known = variables_.find({name, scope});
      if (is_other || known == variables_.end()) return nullptr;
      const bool has_later = is_inside && known->second.count < values->size();
      return has_later ? nullptr : &known->second.value;
    }
    return nullptr;
  }

  // The name that begins here, with its dots; `ahead` is then how many tokens it takes.
  std::string dotted_name(size_t& ahead) const {
    std::string name = peek().text;
    ahead = 1;
    while (is_sign('.', ahead) && peek(ahead + 1).kind == Kind::kName) {
      name += "." + peek(ahead + 1).text;
      ahead += 2;
    }
    return name;
  }

  bool ends_value() const {
    return peek().kind == Kind::kLineEnd || peek().kind == Kind::kEnd || is_sign(',') ||
           is_sign(')') || is_sign(']') || is_sign('}') || is_sign(':');
  }

  // Counts how deep brackets nest, which need not match.
  class Level {
   public:
    explicit Level(PythonParser& parser) : parser_(parser) {
      if (++parser_.level_ <= 4 * kDeepestBracket) return;
      throw Error(Code::kUsage, "brackets nest deeper than 64 levels",
                  cat("line ", parser_.peek().line), "give the options as flags");
    }
    ~Level() { --parser_.level_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    PythonParser& parser_;
  };

  // Passes over one token, or a call or brackets that begin with it. Calls are noted.
  void skip_one() {
    const Level level(*this);
    if (peek().kind == Kind::kName) {
      size_t ahead = 0;
      const std::string name = dotted_name(ahead);
      const size_t line = peek().line;
      const bool is_method =
          at_ > 0 && tokens_[at_ - 1].kind == Kind::kSign && tokens_[at_ - 1].text == ".";
      for (size_t i = 0; i < ahead; ++i) advance();
      if (is_sign('(')) read_call(is_method ? "." + name : name, line);
      return;
    }
    if (is_sign('[') && peek(1).kind == Kind::kText) program_.subscripts.insert(peek(1).text);
    if (is_sign('(') || is_sign('[') || is_sign('{')) {
      const char open = peek().text[0];
      advance();
      return skip_to(open == '(' ? ')' : open == '[' ? ']' : '}');
    }
    advance();
  }

  void skip_to(char close) {
    while (!is_sign(close) && peek().kind != Kind::kEnd) skip_one();
    advance();
  }

  void read_call(const std::string& name, size_t line) {
    advance();  // "("
    PythonCall call{.name = name, .line = line};
    call.arguments.begin = at_;
    const size_t first_inner = program_.calls.size();
    while (!is_sign(')') && peek().kind != Kind::kEnd && peek().kind != Kind::kLineEnd) {
      const bool is_annotated = peek().kind == Kind::kName && is_sign(':', 1);  // of a function
      const bool is_keyword = peek().kind == Kind::kName && is_sign('=', 1) && !is_sign('=', 2);
      if (is_annotated || is_keyword) {
        const std::string keyword = peek().text;
        advance();
        if (is_annotated) skip_annotation();
        if (is_sign('=')) {
          advance();
          call.spans.push_back({at_, at_});
          const bool has_lambda = is_lambda();
          call.has_lambda = call.has_lambda || has_lambda;
          call.keywords.emplace_back(keyword, read_value());
          call.spans.back().end = at_;
          if (has_lambda) call.keywords.back().second.name = "lambda";
        }
      } else {
        call.has_lambda = call.has_lambda || is_lambda();
        call.positional.push_back(read_value());
      }
      if (!is_sign(')') && peek().kind != Kind::kEnd) advance();  // ","
    }
    call.arguments.end = at_;
    if (is_sign(')')) advance();
    for (size_t i = first_inner; i < program_.calls.size(); ++i) {
      if (call.inner.size() < kMostInner) call.inner.push_back(program_.calls[i].name);
    }
    for (const OpenFunction& function : open_) {
      std::vector<std::string>& body = program_.bodies[function.name];
      if (body.size() < kMostInner) body.push_back(name);
    }
    program_.calls.push_back(std::move(call));
  }

  bool is_lambda() const { return peek().kind == Kind::kName && peek().text == "lambda"; }

  void skip_annotation() {
    while (!is_sign('=') && !is_sign(',') && !is_sign(')') && peek().kind != Kind::kEnd) skip_one();
  }

  // sys.argv[1] if len(sys.argv) > 1 else "x" is "x" for a line without arguments. Passes over what
  // stands before it.
  void skip_to_default() {
    if (!peek().is_name("sys") || !peek(2).is_name("argv")) return;
    size_t ahead = 3;
    while (peek(ahead).kind != Kind::kLineEnd && !peek(ahead).is_name("else")) ++ahead;
    if (!peek(ahead).is_name("else") || !is_sign('[', 3)) return;
    for (size_t i = 0; i <= ahead; ++i) advance();
  }

  // Whether `if NAME else` begins here, or `if not NAME else`, and the value before it is taken.
  // nullopt: it does not, or it is not known.
  std::optional<bool> condition() {
    const bool is_not = peek(1).is_name("not");
    const PythonToken& name = peek(is_not ? 2 : 1);
    const bool is_read =
        peek().is_name("if") && name.kind == Kind::kName && peek(is_not ? 3 : 2).is_name("else");
    if (!is_read) return std::nullopt;
    const std::string word =
        name.text == "True" || name.text == "False" ? name.text : value_of(name.text).text;
    if (word != "True" && word != "False") return std::nullopt;
    return (word == "True") != is_not;
  }

  PythonValue read_value() {
    const Level level(*this);
    skip_to_default();
    PythonValue value = read_primary();
    if (ends_value()) return value;
    if (const std::optional<bool> is_first = condition()) {
      for (size_t i = peek(1).is_name("not") ? 4 : 3; i > 0; --i) advance();
      PythonValue other = read_value();
      return *is_first ? value : other;
    }
    while (!ends_value()) skip_one();
    return PythonValue();
  }

  PythonValue read_primary() {
    const PythonToken token = peek();
    PythonValue value;
    if (token.kind == Kind::kText) {
      value.kind = PythonValue::Kind::kText;
      for (; peek().kind == Kind::kText; advance()) value.text += peek().text;
    } else if (token.kind == Kind::kUnknownText) {
      value = formatted(token.text);
      advance();
    } else if (token.kind == Kind::kNumber) {
      value = {.kind = PythonValue::Kind::kWord, .text = token.text};
      advance();
    } else if (is_sign('-') && peek(1).kind == Kind::kNumber) {
      value = {.kind = PythonValue::Kind::kWord, .text = "-" + peek(1).text};
      advance();
      advance();
    } else if (is_sign('[') || is_sign('(') || is_sign('{')) {
      value = read_items();
    } else if (token.kind == Kind::kName) {
      if (token.text == "True" || token.text == "False" || token.text == "None") {
        value = {.kind = PythonValue::Kind::kWord, .text = token.text};
        advance();
        return value;
      }
      size_t ahead = 0;
      const std::string name = dotted_name(ahead);
      if (!is_sign('(', ahead)) {
        for (size_t i = 0; i < ahead; ++i) advance();
        value = value_of(name);
        if (!value.is_known() && value.name.empty()) value.name = name;
        return value;
      }
      value.name = name + "()";
      skip_one();
      if (name == "float" || name == "int" || name == "str") take_cast(name, value);
    } else if (!ends_value()) {
      skip_one();
    }
    return value;
  }

  // float("5e-5") is 5e-5. The call is the last one that was read.
  void take_cast(const std::string& type, PythonValue& value) const {
    const std::vector<PythonValue>& given = program_.calls.back().positional;
    if (given.size() != 1 || program_.calls.back().name != type) return;
    const std::string& text = given[0].text;
    const bool is_number =
        type == "int" ? parse_number(text).has_value() : parse_real(text).has_value();
    const bool is_one =
        given[0].kind == PythonValue::Kind::kText || given[0].kind == PythonValue::Kind::kWord;
    if (!is_one || (type != "str" && !is_number)) return;
    value = {.kind = type == "str" ? PythonValue::Kind::kText : PythonValue::Kind::kWord,
             .text = text};
  }

  // The text of an f-string, whose names in braces have known values.
  PythonValue formatted(const std::string& text) {
    PythonValue value{.kind = PythonValue::Kind::kText};
    for (size_t at = 0; at < text.size(); ++at) {
      if (text[at] != '{') {
        value.text += text[at];
        continue;
      }
      const size_t end = text.find('}', at);
      const PythonValue part = value_of(text.substr(at + 1, end - at - 1));
      const bool is_one =
          part.kind == PythonValue::Kind::kText || part.kind == PythonValue::Kind::kWord;
      if (end == std::string::npos || !is_one) return {};
      value.text += part.text;
      at = end;
    }
    return value;
  }

  PythonValue read_items() {
    const char open = peek().text[0];
    const char close = open == '(' ? ')' : open == '[' ? ']' : '}';
    PythonValue list{.kind = open == '{' ? PythonValue::Kind::kMapping : PythonValue::Kind::kList};
    bool is_known = true, is_tuple = open != '(';
    advance();
    while (!is_sign(close) && peek().kind != Kind::kEnd) {
      PythonValue item = read_value();
      if (open == '{' && is_sign(':')) {
        advance();
        list.keys.push_back(item.text);
        is_known = is_known && item.is_known();
        item = read_value();
      }
      list.items.push_back(std::move(item));
      is_tuple = is_tuple || is_sign(',');
      if (!is_sign(close) && peek().kind != Kind::kEnd) advance();  // ","
    }
    advance();
    if (!is_tuple && list.items.size() == 1) return std::move(list.items[0]);
    if (open == '{' && list.keys.size() != list.items.size()) is_known = false;
    return is_known ? list : PythonValue();
  }

  struct OpenFunction {
    std::string name;
    size_t column = 0, begin = 0;
  };

  std::vector<OpenFunction> open_;  // the functions whose bodies the statement belongs to
  std::vector<PythonToken> tokens_;
  size_t at_ = 0, level_ = 0, copies_left_ = size_t{16} << 20;
  PythonProgram program_;
  struct Variable {
    PythonValue value;
    size_t count = 0;  // of the assignments that the parser has read
  };

  const Assignments assignments_;
  std::map<std::pair<std::string, size_t>, Variable> variables_;  // by names and scopes
  std::map<std::string, size_t> places_;                          // in program_.assignments
  const std::map<std::string, PythonValue>& options_;
  const GivenValues& given_;
  std::set<std::string> changed_;  // names in what the program sets a part of, at any place
};

}  // namespace

namespace {

// Takes annotations out of assignments: "LR: float = 1e-3".
void drop_annotations(std::vector<PythonToken>& tokens) {
  constexpr std::string_view kHeaders = "else try finally lambda default";
  std::vector<PythonToken> kept;
  kept.reserve(tokens.size());
  for (size_t i = 0; i < tokens.size(); ++i) {
    const bool begins = i == 0 || tokens[i - 1].kind == PythonToken::Kind::kLineEnd;
    kept.push_back(tokens[i]);
    if (!begins || tokens[i].kind != PythonToken::Kind::kName || i + 1 >= tokens.size() ||
        !tokens[i + 1].is_sign(':') || is_one_of(kHeaders, tokens[i].text)) {
      continue;
    }
    size_t end = i + 2;
    while (end < tokens.size() && tokens[end].kind != PythonToken::Kind::kLineEnd &&
           !tokens[end].is_sign('=')) {
      ++end;
    }
    if (end < tokens.size() && tokens[end].is_sign('=')) i = end - 1;
  }
  tokens = std::move(kept);
}

// Gives a name that holds a tokenizer, such as "tok", a name that the readers of programs know one
// by: "tok_tokenizer".
void name_tokenizers(std::vector<PythonToken>& tokens) {
  std::set<std::string> names;
  for (size_t i = 0; i + 5 < tokens.size(); ++i) {
    const bool begins = i == 0 || tokens[i - 1].kind == PythonToken::Kind::kLineEnd;
    const bool is_set = tokens[i].kind == PythonToken::Kind::kName && tokens[i + 1].is_sign('=');
    if (!begins || !is_set) continue;
    const size_t at =
        tokens[i + 3].is_sign('.') && tokens[i + 2].is_name("transformers") ? i + 4 : i + 2;
    const bool is_made = at + 2 < tokens.size() &&
                         tokens[at].text.find("Tokenizer") != std::string::npos &&
                         tokens[at + 1].is_sign('.') && tokens[at + 2].is_name("from_pretrained");
    if (is_made && !lower_ascii(tokens[i].text).ends_with("tokenizer"))
      names.insert(tokens[i].text);
  }
  for (PythonToken& token : tokens) {
    const bool is_one = token.kind == PythonToken::Kind::kName && names.contains(token.text);
    if (is_one) token.text += "_tokenizer";
  }
}

// Gives the arguments of model.fit([(loader, loss)], evaluator, epochs) the names that they have in
// sentence-transformers.
void name_fit_arguments(PythonProgram& program) {
  constexpr std::array<const char*, 3> kNames = {"train_objectives", "evaluator", "epochs"};
  if (find_last_call(program, "SentenceTransformer") == nullptr) return;
  for (PythonCall& call : program.calls) {
    const size_t begin = call.arguments.begin;
    const bool has_list = begin + 1 < program.tokens.size() && program.tokens[begin].is_sign('[') &&
                          program.tokens[begin + 1].is_sign('(');
    if (last_name(call.name) != "fit" || !has_list) continue;
    std::vector<PythonSpan> spans;
    for (const PythonArgument& argument : arguments_of(program, call)) {
      if (argument.keyword.empty()) spans.push_back(argument.value);
    }
    const size_t count = std::min({spans.size(), call.positional.size(), kNames.size()});
    for (size_t i = 0; i < count; ++i) {
      call.keywords.emplace_back(kNames[i], call.positional[i]);
      call.spans.push_back(spans[i]);
    }
  }
}

}  // namespace

PythonProgram read_python(std::string_view text,
                          const std::map<std::string, PythonValue>& options) {
  if (text.size() > kMostProgramBytes) {
    throw Error(Code::kUsage, "the program is larger than 1 MiB", "", "give its options as flags");
  }
  constexpr size_t kMostReadings = 3;  // of functions that give their parameters to others
  std::vector<PythonToken> tokens = PythonScanner(text).scan();
  drop_annotations(tokens);
  name_tokenizers(tokens);
  GivenValues given;
  PythonProgram program = PythonParser(tokens, options, given).read();
  if (program.calls.size() > kMostCalls) {
    throw Error(Code::kUsage, "the program has more than 10,000 calls", "",
                "give its options as flags");
  }
  for (size_t i = 1; i < kMostReadings; ++i) {
    GivenValues next = given_values(program);
    if (next.size() == given.size()) break;
    given = std::move(next);
    program = PythonParser(tokens, options, given).read();
  }
  name_fit_arguments(program);
  return program;
}

}  // namespace berth
