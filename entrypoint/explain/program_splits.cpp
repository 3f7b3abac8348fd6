#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "entrypoint/explain/program_names.h"
#include "entrypoint/explain/program_parts.h"
#include "storage/base/text.h"

// Which split of a data set a value is: names, methods and items are followed back to the call that
// loads the rows.
namespace berth {
namespace {

using Kind = PythonToken::Kind;

constexpr std::string_view kSplits = "train validation valid val dev eval test";
constexpr std::string_view kScored = "validation valid val dev eval";  // names of one split

class SplitFinder {
 public:
  explicit SplitFinder(const PythonProgram& program) : program_(program), tokens_(program.tokens) {}

  std::string find(PythonSpan value) const {
    constexpr size_t kMostSteps = 20;
    for (size_t i = 0; i < kMostSteps && value.begin < value.end; ++i) {
      if (tokens_[value.begin].kind != Kind::kName) return "";
      if (const PythonCall* load = loaded_at(value)) return split_of_call(*load, value.end);
      const size_t next = value.begin + 1;
      const bool is_item =
          next + 2 < value.end && tokens_[next].is_sign('[') && tokens_[next + 2].is_sign(']');
      const PythonToken* item = is_item ? &tokens_[next + 1] : nullptr;
      if (item != nullptr && item->kind == Kind::kText) return item->text;
      const bool is_number = item != nullptr && item->kind == Kind::kNumber;
      if (next < value.end && !is_number && !tokens_[next].is_sign('.')) return "";
      const Source source = source_of(tokens_[value.begin].text);
      const std::optional<size_t> place =
          is_number ? parse_number(item->text) : std::optional<size_t>(source.place);
      const bool has_place = is_number || source.is_one_of_several;
      if (has_place) return place ? split_at(source.value, *place) : "";
      value = source.value;
    }
    return "";
  }

 private:
  // What is assigned to a name. One of several names gets the item at `place`.
  struct Source {
    PythonSpan value{};
    size_t place = 0;
    bool is_one_of_several = false;
  };

  // The call that loads rows and begins here: "load_dataset(", "datasets.load_dataset(".
  const PythonCall* loaded_at(PythonSpan value) const {
    for (const PythonCall& call : program_.calls) {
      const auto dots = static_cast<size_t>(std::ranges::count(call.name, '.'));
      const bool is_here = call.arguments.begin == value.begin + 2 * dots + 2;
      if (is_here && last_name(call.name) == "load_dataset") return &call;
    }
    return nullptr;
  }

  // The split that the call names, or the item behind it: load_dataset("imdb")["train"].
  std::string split_of_call(const PythonCall& load, size_t end) const {
    const PythonValue* split = load.find("split");
    if (split != nullptr) return split->kind == PythonValue::Kind::kText ? split->text : "";
    const size_t at = load.arguments.end + 1;
    const bool is_item =
        at + 2 < end && tokens_[at].is_sign('[') && tokens_[at + 1].kind == Kind::kText;
    return is_item ? tokens_[at + 1].text : "";
  }

  // The split at a place of the list that a call loads.
  std::string split_at(PythonSpan value, size_t place) const {
    const PythonCall* load = value.begin < value.end ? loaded_at(value) : nullptr;
    const PythonValue* split = load == nullptr ? nullptr : load->find("split");
    const bool has_item =
        split != nullptr && place < split->items.size() && split->kind == PythonValue::Kind::kList;
    return has_item ? split->items[place].text : "";
  }

  // The one value of a name, besides values that it makes of itself: rows = rows.map(f).
  Source source_of(const std::string& name) const {
    std::vector<Source> found;
    for (size_t i = 0; i + 2 < tokens_.size(); ++i) {
      const bool begins = i == 0 || tokens_[i - 1].kind == Kind::kLineEnd;
      if (!begins || tokens_[i].kind != Kind::kName) continue;
      size_t at = i, count = 1;
      std::optional<size_t> place;
      for (; at + 1 < tokens_.size(); at += 2, ++count) {
        if (tokens_[at].kind != Kind::kName) break;
        if (tokens_[at].text == name) place = count - 1;
        if (!tokens_[at + 1].is_sign(',')) break;
      }
      ++at;
      const bool is_set = place && at + 1 < tokens_.size() && tokens_[at].is_sign('=') &&
                          !tokens_[at + 1].is_sign('=');
      if (!is_set) continue;
      PythonSpan value{at + 1, at + 1};
      while (value.end < tokens_.size() && tokens_[value.end].kind != Kind::kLineEnd) ++value.end;
      if (tokens_[value.begin].is_name(name)) continue;
      found.push_back({value, *place, count > 1});
    }
    return found.size() == 1 ? found[0] : Source();
  }

  const PythonProgram& program_;
  const std::vector<PythonToken>& tokens_;
};

void refuse_split(std::string_view from, std::string_view name, size_t line, Launch& launch) {
  launch.refuse(
      cat("the split ", from, " (line ", line, ")"),
      cat("gets the name ", name, "; name the rows with --train-data-file and --eval-data-file"));
}

}  // namespace

std::string split_of(const PythonProgram& program, PythonSpan rows) {
  return SplitFinder(program).find(rows);
}

void check_splits(const PythonProgram& program, Launch& launch) {
  const std::vector<PythonToken>& tokens = program.tokens;
  const SplitFinder finder(program);
  const auto is_split = [&](size_t at) {
    return tokens[at].kind == Kind::kText && is_one_of(kSplits, tokens[at].text);
  };
  const auto check = [&](const std::string& name, PythonSpan value, size_t line) {
    std::string from = finder.find(value);
    if (from.empty()) from = subscript_in(program, value);
    const bool is_same = from == name || (is_one_of(kScored, from) && is_one_of(kScored, name));
    if (!is_one_of(kSplits, name) || from.empty() || is_same) return;
    refuse_split(from, name, line, launch);
  };
  for (const PythonCall& call : program.calls) {
    const bool is_dict = last_name(call.name) == "DatasetDict";
    if (call.name.starts_with(kDefinition) || (call.name != "dict" && !is_dict)) continue;
    for (size_t i = 0; i < call.spans.size(); ++i) {
      check(call.keywords[i].first, call.spans[i], call.line);
    }
    if (!is_dict) continue;
    for (const auto& [name, value] : find_entries(program, call.arguments)) {
      check(name, value, call.line);
    }
  }
  for (const PythonCall& call : program.calls) {  // split={"train": "test"}
    const PythonValue* split = call.find("split");
    const bool is_mapping = split != nullptr && split->kind == PythonValue::Kind::kMapping;
    if (!is_mapping || last_name(call.name) != "load_dataset") continue;
    for (size_t i = 0; i < split->keys.size(); ++i) {
      const std::string from = split->items[i].text.substr(0, split->items[i].text.find('['));
      if (from != split->keys[i]) refuse_split(from, split->keys[i], call.line, launch);
    }
  }
  for (size_t i = 2; i + 2 < tokens.size(); ++i) {  // rows["train"], rows["test"] = ...
    const bool begins = i == 2 || tokens[i - 3].kind == Kind::kLineEnd;
    const bool is_first = begins && tokens[i - 1].is_sign('[') && is_split(i);
    if (!is_first || !tokens[i + 1].is_sign(']') || !tokens[i + 2].is_sign(',')) continue;
    refuse_split("of another", tokens[i].text, tokens[i].line, launch);
  }
  for (size_t i = 0; i + 6 < tokens.size(); ++i) {  // rows["train"] = rows["test"]
    const size_t begin = tokens[i + 1].is_sign(':') ? i + 2 : i + 3;
    const bool is_set =
        tokens[i + 1].is_sign(':') || (tokens[i + 1].is_sign(']') && tokens[i + 2].is_sign('='));
    const bool is_other = is_set && is_split(i) && tokens[begin + 1].is_sign('[') &&
                          is_split(begin + 2) && tokens[begin + 2].text != tokens[i].text;
    if (!is_other) continue;
    refuse_split(tokens[begin + 2].text, tokens[i].text, tokens[i].line, launch);
  }
}

}  // namespace berth
