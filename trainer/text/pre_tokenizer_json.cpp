#include <nlohmann/json.hpp>
#include <utility>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "trainer/text/json_reading.h"
#include "trainer/text/pipeline_json.h"
#include "trainer/text/text_kinds.h"

namespace berth {

namespace {

void add_step(const Json& pre_tokenizer, std::vector<SplitStep>& steps, Splitting& splitting);

SplitBehavior behavior_of(const Json& pre_tokenizer, SplitBehavior otherwise) {
  const auto name = string_member(pre_tokenizer, "behavior");
  if (!name) return otherwise;
  if (*name == "Removed") return SplitBehavior::kRemoved;
  if (*name == "Isolated") return SplitBehavior::kIsolated;
  if (*name == "MergedWithPrevious") return SplitBehavior::kMergedWithPrevious;
  if (*name == "MergedWithNext") return SplitBehavior::kMergedWithNext;
  if (*name == "Contiguous") return SplitBehavior::kContiguous;
  throw Error(Code::kBadData,
              cat("pre_tokenizer.behavior is ", quoted(*name), ", which berth does not support"));
}

// Files of versions before 0.15 have add_prefix_space instead of prepend_scheme.
SplitStep metaspace_of(const Json& pre_tokenizer, Splitting& splitting) {
  const std::string replacement = string_member(pre_tokenizer, "replacement").value_or("\u2581");
  if (replacement.empty()) throw Error(Code::kBadData, "pre_tokenizer.replacement is empty");
  const bool adds = bool_member(pre_tokenizer, "add_prefix_space").value_or(true);
  const std::string scheme =
      string_member(pre_tokenizer, "prepend_scheme").value_or(adds ? "always" : "never");
  PrependScheme prepend = PrependScheme::kAlways;
  if (scheme == "first") {
    prepend = PrependScheme::kFirst;
    splitting.needs_alignment = true;
  } else if (scheme == "never") {
    prepend = PrependScheme::kNever;
  } else if (scheme != "always") {
    throw Error(Code::kBadData, cat("pre_tokenizer.prepend_scheme is ", quoted(scheme),
                                    ", which berth does not support"));
  }
  const bool splits = bool_member(pre_tokenizer, "split").value_or(true);
  splitting.keeps_spaces = splits && !splitting.removes_spaces;
  return metaspace(replacement, prepend, splits);
}

SplitStep split_of(const Json& pre_tokenizer) {
  const Json* pattern = member(pre_tokenizer, "pattern");
  const auto literal = pattern == nullptr ? std::nullopt : string_member(*pattern, "String");
  if (!literal) {
    const auto regex = pattern == nullptr ? std::nullopt : string_member(*pattern, "Regex");
    throw Error(Code::kBadData, cat("pre_tokenizer.pattern is ", quoted(regex.value_or("")),
                                    ", a regular expression that berth does not support"));
  }
  if (literal->empty()) throw Error(Code::kBadData, "pre_tokenizer.pattern is empty");
  return splitting_at(*literal, behavior_of(pre_tokenizer, SplitBehavior::kRemoved),
                      bool_member(pre_tokenizer, "invert").value_or(false));
}

void add_sequence(const Json& pre_tokenizer, std::vector<SplitStep>& steps, Splitting& splitting) {
  const Json* list = member(pre_tokenizer, "pretokenizers");
  if (list == nullptr || !list->is_array()) {
    throw Error(Code::kBadData, "pre_tokenizer.pretokenizers is not a list");
  }
  for (const Json& each : *list) {
    if (splitting.byte_level) {
      throw Error(Code::kBadData, "pre_tokenizer.pretokenizers has a step after ByteLevel");
    }
    add_step(each, steps, splitting);
  }
}

void add_step(const Json& pre_tokenizer, std::vector<SplitStep>& steps, Splitting& splitting) {
  const std::string type = string_member(pre_tokenizer, "type").value_or("");
  if (type == "Sequence") {
    add_sequence(pre_tokenizer, steps, splitting);
  } else if (type == "BertPreTokenizer") {
    steps.push_back(bert_splitting());
    splitting.removes_spaces = true;
  } else if (type == "ByteLevel") {
    steps.push_back(
        byte_level_splitting(bool_member(pre_tokenizer, "add_prefix_space").value_or(true),
                             bool_member(pre_tokenizer, "use_regex").value_or(true)));
    splitting.byte_level = true;
    splitting.keeps_spaces = !splitting.removes_spaces;
  } else if (type == "Whitespace") {
    steps.push_back(word_splitting());
    splitting.removes_spaces = true;
  } else if (type == "WhitespaceSplit") {
    steps.push_back(splitting_at(is_white_space, SplitBehavior::kRemoved));
    splitting.removes_spaces = true;
  } else if (type == "Metaspace") {
    steps.push_back(metaspace_of(pre_tokenizer, splitting));
  } else if (type == "Punctuation") {
    steps.push_back(
        splitting_at(is_punctuation, behavior_of(pre_tokenizer, SplitBehavior::kIsolated)));
  } else if (type == "Digits") {
    const bool individual = bool_member(pre_tokenizer, "individual_digits").value_or(false);
    steps.push_back(splitting_at(
        is_numeric, individual ? SplitBehavior::kIsolated : SplitBehavior::kContiguous));
  } else if (type == "Split") {
    steps.push_back(split_of(pre_tokenizer));
  } else {
    throw Error(Code::kBadData,
                cat("pre_tokenizer.type is ", quoted(type), ", which berth does not support"));
  }
}

}  // namespace

Splitting read_splitting(std::string_view json) {
  const Json pre_tokenizer = parse_json(json);
  Splitting splitting;
  if (pre_tokenizer.is_null()) return splitting;
  std::vector<SplitStep> steps;
  add_step(pre_tokenizer, steps, splitting);
  splitting.split = steps.size() == 1 ? steps.front() : in_sequence(std::move(steps));
  return splitting;
}

}  // namespace berth
