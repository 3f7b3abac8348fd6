#include "storage/formats/pickle/pickle_machine.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "storage/base/bytes.h"
#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/base/utf8.h"

namespace berth {
namespace {

// How people make a usual table of what holds such objects. Empty: it is not known.
const char* hint_of_class(std::string_view module, std::string_view name) {
  if (name.starts_with("Sparse")) {
    return "sparse columns become usual ones by column.sparse.to_dense() of pandas";
  }
  if (module == "decimal" || module == "fractions")
    return "astype(float) makes numbers of a column";
  if (module == "uuid" || module == "pathlib" || module == "enum" || module == "ipaddress") {
    return "astype(str) makes texts of a column";
  }
  if (name == "recarray") return "pandas.DataFrame.from_records(...) makes a table of it";
  const bool is_of_tables = module.starts_with("pandas") || module.starts_with("numpy");
  return is_of_tables ? "" : "pickle a table of pandas, or a dict of lists";
}

// The bytes of a pickle, read from the front. Throws kCorrupt if the bytes end early.
// It remembers that they did: then more of them might have helped.
class PickleInput {
 public:
  explicit PickleInput(Bytes pickle) : pickle_(pickle), rest_(pickle) {}

  size_t offset() const { return rest_.offset(); }
  size_t remaining() const { return rest_.remaining(); }
  bool ran_out() const { return ran_out_; }

  uint8_t u8() { return ahead(1).u8(); }
  uint16_t u16() { return ahead(2).u16(); }
  uint32_t u32() { return ahead(4).u32(); }
  uint64_t u64() { return ahead(8).u64(); }
  Bytes take(uint64_t size) { return ahead(size).take(size); }

  // The bytes up to the end of the line, which it passes over.
  std::string_view line() {
    const auto rest = as_text(pickle_.subspan(offset()));
    const size_t end = rest.find('\n');
    if (end == std::string_view::npos) {
      ran_out_ = true;
      throw Error(Code::kCorrupt, "ends inside a line");
    }
    rest_.skip(end + 1);
    return rest.substr(0, rest.substr(0, end).ends_with('\r') ? end - 1 : end);
  }

  // A length of 32 bits with a sign.
  uint64_t size32() {
    const auto size = static_cast<int32_t>(u32());
    if (size < 0) throw Error(Code::kCorrupt, cat("a length of ", size));
    return static_cast<uint64_t>(size);
  }

 private:
  Cursor& ahead(uint64_t size) {
    ran_out_ |= size > remaining();
    return rest_;
  }

  const Bytes pickle_;
  Cursor rest_;
  bool ran_out_ = false;
};

// The functions below parse numbers and texts as the opcodes of protocols 0 to 2 write them. They
// return nullopt if the text is malformed.

// A number that does not fit 64 bits becomes the nearest double.
using Integer = std::variant<int64_t, double>;

// A float as Python's repr() writes it: "1.5", "inf", "nan".
std::optional<double> parse_float(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (stopped != end || text.empty() || error == std::errc::invalid_argument) return std::nullopt;
  if (error == std::errc::result_out_of_range) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    return text.starts_with('-') ? -kInfinity : kInfinity;
  }
  return value;
}

// Decimal digits with an optional sign.
std::optional<Integer> parse_integer(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const char* end = text.data() + text.size();
  int64_t value = 0;
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (stopped != end || text.empty()) return std::nullopt;
  if (error == std::errc()) return value;
  if (error != std::errc::result_out_of_range) return std::nullopt;
  const auto real = parse_float(text);
  if (!real) return std::nullopt;
  return *real;
}

// Two's complement, little-endian, of any length. An empty sequence is 0.
Integer decode_integer(Bytes bytes) {
  const bool negative = !bytes.empty() && (bytes.back() & std::byte{0x80}) != std::byte{0};
  if (bytes.size() <= 8) {
    uint64_t value = negative ? ~uint64_t{0} : 0;
    for (size_t i = bytes.size(); i > 0; --i) {
      value = value << 8 | std::to_integer<uint64_t>(bytes[i - 1]);
    }
    return static_cast<int64_t>(value);
  }
  double value = std::to_integer<int>(bytes.back()) - (negative ? 256 : 0);
  for (size_t i = bytes.size() - 1; i > 0 && std::isfinite(value); --i) {
    value = value * 256 + std::to_integer<int>(bytes[i - 1]);
  }
  return value;
}

// Parses exactly `digits` hexadecimal digits at the start of `text`.
std::optional<uint32_t> parse_hex(std::string_view text, size_t digits) {
  if (text.size() < digits) return std::nullopt;
  uint32_t value = 0;
  const char* end = text.data() + digits;
  const auto [stopped, error] = std::from_chars(text.data(), end, value, 16);
  if (error != std::errc() || stopped != end) return std::nullopt;
  return value;
}

constexpr bool is_octal(char c) { return c >= '0' && c <= '7'; }

// Decodes the escape whose backslash is text[at - 1], and moves `at` past it. An escape that Python
// does not know stays unchanged. Returns false if the escape is malformed.
bool append_escape(std::string_view text, size_t& at, std::string& out) {
  constexpr std::string_view kLetters = "\\'\"abfnrtv";
  constexpr std::string_view kMeanings = "\\'\"\a\b\f\n\r\t\v";
  if (at == text.size()) return false;
  const char letter = text[at];
  if (const size_t known = kLetters.find(letter); known != std::string_view::npos) {
    out += kMeanings[known];
    ++at;
  } else if (letter == 'x') {
    const auto value = parse_hex(text.substr(at + 1), 2);
    if (!value) return false;
    out += static_cast<char>(*value);
    at += 3;
  } else if (is_octal(letter)) {
    unsigned value = 0;
    for (int i = 0; i < 3 && at < text.size() && is_octal(text[at]); ++i) {
      value = value * 8 + (text[at++] - '0');
    }
    out += static_cast<char>(value);
  } else {
    out += '\\';
  }
  return true;
}

// The bytes of a quoted literal with Python's escapes, such as 'a\\n'.
std::optional<std::string> unquote(std::string_view literal) {
  if (literal.size() < 2 || literal.front() != literal.back() ||
      (literal.front() != '\'' && literal.front() != '"')) {
    return std::nullopt;
  }
  const std::string_view text = literal.substr(1, literal.size() - 2);
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const char c = text[at++];
    if (c != '\\') {
      out += c;
    } else if (!append_escape(text, at, out)) {
      return std::nullopt;
    }
  }
  return out;
}

// Converts Latin-1 text with \uXXXX and \UXXXXXXXX escapes to UTF-8.
std::optional<std::string> decode_raw_unicode(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const bool escape =
        text[at] == '\\' && at + 1 < text.size() && (text[at + 1] == 'u' || text[at + 1] == 'U');
    if (!escape) {
      append_utf8(static_cast<unsigned char>(text[at++]), out);
      continue;
    }
    const size_t digits = text[at + 1] == 'u' ? 4 : 8;
    const auto code_point = parse_hex(text.substr(at + 2), digits);
    if (!code_point || *code_point > 0x10FFFF) return std::nullopt;
    append_utf8(*code_point, out);
    at += 2 + digits;
  }
  return out;
}

constexpr NodeId kUnset = UINT32_MAX;

// Picklers push the items of a container above a mark. Without one, they push what the next opcode
// needs, and one container for each level of nesting, of which Python allows some thousands.
constexpr size_t kMostUnmarked = 100'000;
// A tuple has the most items above a mark: other containers are written in batches.
constexpr size_t kMostItems = 4'000'000;

class PickleMachine {
 public:
  PickleMachine(std::vector<std::byte> pickle, PickleDialect& dialect, bool is_whole = true)
      : graph_(std::move(pickle)),
        input_(graph_.pickle()),
        dialect_(dialect),
        is_whole_(is_whole) {}

  // Whether run() failed because the bytes ended, so that more of them might have helped.
  bool ran_out() const { return input_.ran_out(); }

  LoadedPickle run() {
    size_t opcode_at = 0;
    NodeId top = PickleGraph::kNone;
    try {
      uint8_t opcode;
      do {
        opcode_at = input_.offset();
        opcode = input_.u8();
      } while (step(opcode));
      top = pop();
    } catch (const Error& error) {
      if (!error.where().empty()) throw;
      throw error.at(cat("byte ", opcode_at));
    }
    return {std::move(graph_), top, input_.offset()};
  }

 private:
  // Returns false at STOP.
  bool step(uint8_t opcode) {
    if (opcode == '.') return false;
    if (literal(opcode) || text(opcode) || container(opcode) || stack_or_memo(opcode) ||
        object(opcode)) {
      return true;
    }
    switch (opcode) {
      case 0x80: {  // PROTO
        const int version = input_.u8();
        if (version > 5) corrupt(cat("pickle protocol ", version, "; 0 to 5 are known"));
        return true;
      }
      case 0x95: {  // FRAME
        const uint64_t size = input_.u64();
        if (is_whole_ && size > input_.remaining()) corrupt(cat("a frame of ", size, " bytes"));
        return true;
      }
      default:
        refuse_opcode(opcode);
    }
  }

  // Each of the next functions handles the opcodes of one kind and returns false for any other
  // opcode.
  bool literal(uint8_t opcode) {
    switch (opcode) {
      case 'N':
        return push(PickleGraph::kNone), true;
      case 0x88:
        return push(PickleGraph::kTrue), true;
      case 0x89:
        return push(PickleGraph::kFalse), true;
      case 'I': {
        const std::string_view digits = input_.line();
        if (digits == "01" || digits == "00") {
          push(digits == "01" ? PickleGraph::kTrue : PickleGraph::kFalse);
        } else {
          push_parsed(parse_integer(digits), digits);
        }
        return true;
      }
      case 'L': {
        std::string_view digits = input_.line();
        if (digits.ends_with('L')) digits.remove_suffix(1);
        return push_parsed(parse_integer(digits), digits), true;
      }
      case 'J':
        return push(graph_.add_int(static_cast<int32_t>(input_.u32()))), true;
      case 'K':
        return push(graph_.add_int(input_.u8())), true;
      case 'M':
        return push(graph_.add_int(input_.u16())), true;
      case 0x8a:
        return push(decode_integer(input_.take(input_.u8()))), true;
      case 0x8b:
        return push(decode_integer(input_.take(input_.size32()))), true;
      case 'F': {
        const std::string_view digits = input_.line();
        return push_parsed(parse_float(digits), digits), true;
      }
      case 'G':
        return push(graph_.add_float(std::bit_cast<double>(__builtin_bswap64(input_.u64())))), true;
      default:
        return false;
    }
  }

  bool text(uint8_t opcode) {
    switch (opcode) {
      case 'S':
        return push_decoded(NodeKind::kOldText, unquote(input_.line())), true;
      case 'T':
        return push_slice(NodeKind::kOldText, input_.take(input_.size32())), true;
      case 'U':
        return push_slice(NodeKind::kOldText, input_.take(input_.u8())), true;
      case 'V':
        return push_decoded(NodeKind::kText, decode_raw_unicode(input_.line())), true;
      case 'X':
        return push_slice(NodeKind::kText, input_.take(input_.u32())), true;
      case 0x8c:
        return push_slice(NodeKind::kText, input_.take(input_.u8())), true;
      case 0x8d:
        return push_slice(NodeKind::kText, input_.take(input_.u64())), true;
      case 'B':
        return push_slice(NodeKind::kBytes, input_.take(input_.u32())), true;
      case 'C':
        return push_slice(NodeKind::kBytes, input_.take(input_.u8())), true;
      case 0x8e:  // BINBYTES8
      case 0x96:  // BYTEARRAY8
        return push_slice(NodeKind::kBytes, input_.take(input_.u64())), true;
      default:
        return false;
    }
  }

  bool container(uint8_t opcode) {
    switch (opcode) {
      case ')':
        return collect_tuple(0), true;
      case 0x85:
      case 0x86:
      case 0x87:
        return collect_tuple(opcode - 0x84), true;
      case 't':
        return collect(NodeKind::kTuple), true;
      case ']':
        return push(graph_.add_items(NodeKind::kList, {})), true;
      case 'l':
        return collect(NodeKind::kList), true;
      case '}':
        return push(graph_.add_items(NodeKind::kDict, {})), true;
      case 'd':
        return collect(NodeKind::kDict), true;
      case 0x8f:
        return push(graph_.add_items(NodeKind::kSet, {})), true;
      case 0x91:
        return collect(NodeKind::kSet), true;
      case 'a':
        return append(NodeKind::kList, 1), true;
      case 'e':
        return append_marked(NodeKind::kList), true;
      case 's':
        return append(NodeKind::kDict, 2), true;
      case 'u':
        return append_marked(NodeKind::kDict), true;
      case 0x90:
        return append_marked(NodeKind::kSet), true;
      default:
        return false;
    }
  }

  bool stack_or_memo(uint8_t opcode) {
    switch (opcode) {
      case '(':
        if (marks_.size() == kMostItems)
          corrupt(cat("nests more than ", kMostItems, " containers"));
        return marks_.push_back(stack_.size()), true;
      case '0':
        if (!marks_.empty() && marks_.back() == stack_.size()) {
          marks_.pop_back();
        } else {
          pop();
        }
        return true;
      case '1':
        marked();
        return drop_to_mark(), true;
      case '2':
        return push(NodeId{top()}), true;
      case 'p':
        return put(memo_index()), true;
      case 'q':
        return put(input_.u8()), true;
      case 'r':
        return put(input_.u32()), true;
      case 0x94:
        return put(memo_used_), true;
      case 'g':
        return get(memo_index()), true;
      case 'h':
        return get(input_.u8()), true;
      case 'j':
        return get(input_.u32()), true;
      default:
        return false;
    }
  }

  bool object(uint8_t opcode) {
    switch (opcode) {
      case 'c': {
        const std::string_view module = input_.line(), name = input_.line();
        return push_global(module, name), true;
      }
      case 0x93: {
        const NodeId name = pop(), module = pop();
        if (!graph_.is_text(name) || !graph_.is_text(module)) corrupt("a global without a name");
        return push_global(graph_.text(module), graph_.text(name)), true;
      }
      case 'R':
      case 0x81: {
        const NodeId arguments = pop(), callable = pop();
        push(opcode == 'R' ? dialect_.reduce(graph_, callable, arguments)
                           : dialect_.new_object(graph_, callable, arguments));
        return true;
      }
      case 'Q': {
        const std::optional<NodeId> outside = dialect_.persistent(graph_, pop());
        if (!outside) refuse_opcode(opcode);
        return push(*outside), true;
      }
      case 'b': {
        const NodeId state = pop();
        return dialect_.build(graph_, top(), state), true;
      }
      default:
        return false;
    }
  }

  [[noreturn]] static void corrupt(const std::string& what) { throw Error(Code::kCorrupt, what); }

  [[noreturn]] void refuse_opcode(uint8_t opcode) const {
    corrupt(cat("opcode ", static_cast<int>(opcode), ", which a ", dialect_.kind(),
                "'s pickle never has"));
  }

  void push(NodeId id) {
    const size_t most = marks_.empty() ? kMostUnmarked : kMostItems;
    if (stack_.size() >= most) {
      corrupt(cat("has put ", most, " objects on the stack without using them"));
    }
    stack_.push_back(id);
  }
  void push(Integer value) {
    const auto* whole = std::get_if<int64_t>(&value);
    push(whole != nullptr ? graph_.add_int(*whole) : graph_.add_float(std::get<double>(value)));
  }
  template <typename T>
  void push_parsed(const std::optional<T>& value, std::string_view spelled) {
    if (!value) corrupt(cat("not a number: ", spelled.size(), " bytes"));
    if constexpr (std::is_same_v<T, double>) {
      push(graph_.add_float(*value));
    } else {
      push(*value);
    }
  }
  void push_slice(NodeKind kind, Bytes bytes) { push(graph_.add_slice(kind, bytes)); }
  void push_decoded(NodeKind kind, const std::optional<std::string>& text) {
    if (!text) corrupt("a malformed text");
    push(graph_.add_decoded(kind, *text));
  }

  size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  void need(size_t count) const {
    if (stack_.size() - floor() < count) corrupt("takes more than the stack holds");
  }
  NodeId pop() {
    need(1);
    const NodeId top = stack_.back();
    stack_.pop_back();
    return top;
  }
  NodeId& top() {
    need(1);
    return stack_.back();
  }
  // Returns the items above the last mark. Call drop_to_mark() afterwards to remove them.
  std::span<const NodeId> marked() const {
    if (marks_.empty()) corrupt("takes items down to a mark that does not exist");
    return std::span(stack_).subspan(marks_.back());
  }
  void drop_to_mark() {
    stack_.resize(marks_.back());
    marks_.pop_back();
  }
  void collect(NodeKind kind) {
    const auto items = marked();
    if (kind == NodeKind::kDict && items.size() % 2 != 0) corrupt("a dict with a key but no value");
    const NodeId id = graph_.add_items(kind, items);
    drop_to_mark();
    push(id);
  }
  void collect_tuple(size_t count) {
    need(count);
    const NodeId id = graph_.add_items(NodeKind::kTuple, std::span(stack_).last(count));
    stack_.resize(stack_.size() - count);
    push(id);
  }
  // Removes the last `count` items from the stack and appends them to the container below them.
  void append(NodeKind kind, size_t count) {
    need(count + 1);
    append(kind, stack_.size() - count - 1, std::span(stack_).last(count));
    stack_.resize(stack_.size() - count);
  }
  void append_marked(NodeKind kind) {
    const auto items = marked();
    const size_t below = marks_.size() > 1 ? marks_[marks_.size() - 2] : 0;
    if (marks_.back() == below) corrupt("takes more than the stack holds");
    append(kind, marks_.back() - 1, items);
    drop_to_mark();
  }
  void append(NodeKind kind, size_t at, std::span<const NodeId> items) {
    if (!graph_.is(stack_[at], kind)) corrupt(cat("adds items to ", graph_.describe(stack_[at])));
    if (kind == NodeKind::kDict && items.size() % 2 != 0) corrupt("a key without a value");
    graph_.append(stack_[at], items);
  }

  uint64_t memo_index() {
    const std::string_view digits = input_.line();
    const auto index = parse_integer(digits);
    const auto* whole = index ? std::get_if<int64_t>(&*index) : nullptr;
    if (whole == nullptr || *whole < 0) corrupt("a malformed memo index");
    return static_cast<uint64_t>(*whole);
  }
  void put(uint64_t index) {
    // Picklers number memo entries from 0, and each entry takes two bytes. An index therefore stays
    // below the size of the pickle.
    if (index >= graph_.pickle().size()) corrupt(cat("memo index ", index));
    if (index >= memo_.size()) memo_.resize(index + 1, kUnset);
    memo_used_ += memo_[index] == kUnset;
    memo_[index] = top();
  }
  void get(uint64_t index) {
    if (index >= memo_.size() || memo_[index] == kUnset) {
      corrupt(cat("memo index ", index, ", under which nothing was stored"));
    }
    push(memo_[index]);
  }

  void push_global(std::string_view module, std::string_view name) {
    const auto entry = dialect_.find_global(module, name);
    if (!entry) {
      throw Error(Code::kBadData,
                  cat("refers to ", global_name(module, name), ", which is not part of a ",
                      dialect_.kind(), "; nothing was executed"),
                  "",
                  dialect_.kind() == "table" ? hint_of_class(module, name)
                                             : "if you trust the file, load it in Python and save "
                                               "its state dict alone, by torch.save");
    }
    push(graph_.add_global(*entry));
  }

  PickleGraph graph_;
  PickleInput input_;
  PickleDialect& dialect_;
  const bool is_whole_;  // or a beginning
  std::vector<NodeId> stack_, memo_;
  std::vector<size_t> marks_;  // stack heights
  size_t memo_used_ = 0;
};

}  // namespace

void check_pickle_beginning(Bytes beginning, PickleDialect& dialect) {
  PickleMachine machine({beginning.begin(), beginning.end()}, dialect, /*is_whole=*/false);
  try {
    machine.run();
  } catch (const Error&) {
    if (!machine.ran_out()) throw;
  }
}

LoadedPickle load_pickle(std::vector<std::byte> pickle, PickleDialect& dialect) {
  return PickleMachine(std::move(pickle), dialect).run();
}

}  // namespace berth
