#include "trainer/text/pipeline_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "storage/base/base64.h"
#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "trainer/text/bpe.h"
#include "trainer/text/json_reading.h"
#include "trainer/text/unicode.h"
#include "trainer/text/unigram.h"

namespace berth {

namespace {

const Json& required(const Json& model, const char* name) {
  const Json* value = member(model, name);
  if (value == nullptr || !value->is_structured()) {
    throw Error(Code::kBadData, cat("its model has no ", name));
  }
  return *value;
}

Bpe::Vocabulary read_vocabulary(const Json& model) {
  Bpe::Vocabulary vocabulary;
  const Json& pieces = required(model, "vocab");
  if (!pieces.is_object()) throw Error(Code::kBadData, "model.vocab is not an object");
  vocabulary.reserve(pieces.size());
  for (const auto& [piece, id] : pieces.items()) {
    vocabulary.emplace_back(piece, count_of(id, "the id of a piece"));
  }
  return vocabulary;
}

// A merge is "left right", or since tokenizers 0.20 ["left", "right"].
std::pair<std::string, std::string> read_merge(const Json& merge) {
  if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
    return {merge[0].get<std::string>(), merge[1].get<std::string>()};
  }
  const std::string text = merge.is_string() ? merge.get<std::string>() : "";
  const size_t space = text.find(' ');
  if (space == text.npos) throw Error(Code::kBadData, "a merge is not two tokens");
  return {text.substr(0, space), text.substr(space + 1)};
}

std::unique_ptr<WordModel> read_bpe(const Json& model, bool byte_level) {
  BpeOptions options;
  options.byte_level = byte_level;
  options.unk_token = string_member(model, "unk_token");
  options.continuing_subword_prefix =
      string_member(model, "continuing_subword_prefix").value_or("");
  options.end_of_word_suffix = string_member(model, "end_of_word_suffix").value_or("");
  options.fuse_unk = bool_member(model, "fuse_unk").value_or(false);
  options.byte_fallback = bool_member(model, "byte_fallback").value_or(false);
  options.ignore_merges = bool_member(model, "ignore_merges").value_or(false);
  if (byte_level &&
      !(options.end_of_word_suffix.empty() && options.continuing_subword_prefix.empty())) {
    throw Error(Code::kBadData,
                "model.end_of_word_suffix or model.continuing_subword_prefix is set after "
                "ByteLevel, which berth does not support");
  }
  if (const Json* dropout = member(model, "dropout"); dropout != nullptr && *dropout != 0) {
    throw Error(Code::kBadData, "model.dropout is set, which berth does not support");
  }
  Bpe::Merges merges;
  for (const Json& merge : required(model, "merges")) merges.push_back(read_merge(merge));
  return std::make_unique<Bpe>(read_vocabulary(model), merges, std::move(options));
}

std::unique_ptr<WordModel> read_unigram(const Json& model) {
  std::vector<std::pair<std::string, double>> pieces;
  for (const Json& piece : required(model, "vocab")) {
    if (!piece.is_array() || piece.size() != 2 || !piece[0].is_string() || !piece[1].is_number()) {
      throw Error(Code::kBadData, cat("piece ", pieces.size(), " is not a text and its score"));
    }
    pieces.emplace_back(piece[0].get<std::string>(), piece[1].get<double>());
  }
  std::optional<int32_t> unk_id;
  if (const Json* id = member(model, "unk_id")) unk_id = count_of(*id, "unk_id");
  return std::make_unique<Unigram>(std::move(pieces), unk_id,
                                   bool_member(model, "byte_fallback").value_or(false));
}

std::unique_ptr<WordModel> read_wordpiece(const Json& model) {
  WordPieceOptions options;
  if (const auto unk = string_member(model, "unk_token")) options.unk_token = *unk;
  if (const auto prefix = string_member(model, "continuing_subword_prefix")) {
    options.continuing_subword_prefix = *prefix;
  }
  if (const Json* limit = member(model, "max_input_chars_per_word")) {
    options.max_input_chars_per_word =
        static_cast<uint64_t>(count_of(*limit, "max_input_chars_per_word"));
  }
  std::vector<std::string> pieces;
  const Bpe::Vocabulary vocabulary = read_vocabulary(model);
  for (const auto& [piece, id] : vocabulary) {
    const auto index = static_cast<size_t>(id);
    if (index >= 4 * vocabulary.size() + 1000) {
      throw Error(Code::kBadData, cat("the id of ", quoted(piece), " is ", index,
                                      " in a vocabulary of ", vocabulary.size()));
    }
    if (index >= pieces.size()) pieces.resize(index + 1);
    pieces[index] = piece;
  }
  return std::make_unique<WordPieceModel>(std::make_unique<const WordPiece>(pieces, options));
}

std::unique_ptr<WordModel> read_model(const Json& model, bool byte_level) {
  const std::string type = type_of_model(model);
  if (type == "BPE") return read_bpe(model, byte_level);
  if (byte_level) {
    throw Error(Code::kBadData, cat("model.type is ", quoted(type), " after ByteLevel, not BPE"));
  }
  if (type == "Unigram") return read_unigram(model);
  if (type == "WordPiece") return read_wordpiece(model);
  throw Error(Code::kBadData,
              cat("model.type is ", quoted(type), ", which berth does not support"));
}

std::string text_of(const Json& root, const char* name) {
  const Json* part = member(root, name);
  return part == nullptr ? "null" : part->dump();
}

}  // namespace

std::string type_of_model(const Json& model) {
  if (const auto type = string_member(model, "type")) return *type;
  if (member(model, "merges") != nullptr) return "BPE";
  const Json* vocabulary = member(model, "vocab");
  return vocabulary != nullptr && vocabulary->is_array() ? "Unigram" : "WordPiece";
}

std::vector<AddedToken> read_added_tokens_list(const Json& root) {
  std::vector<AddedToken> tokens;
  const Json* added = member(root, "added_tokens");
  if (added == nullptr) return tokens;
  for (const Json& value : *added) {
    AddedToken token = token_of(value, false, true);
    const Json* id = member(value, "id");
    if (id == nullptr) throw Error(Code::kBadData, cat(quoted(token.content), " has no id"));
    token.id = count_of(*id, "the id of a token");
    tokens.push_back(std::move(token));
  }
  return tokens;
}

PipelineParts read_pipeline_json(const Json& root) {
  const Json* model = member(root, "model");
  if (model == nullptr) throw Error(Code::kBadData, "it has no model");
  PipelineParts parts;
  const Splitting splitting = read_splitting(text_of(root, "pre_tokenizer"));
  const PostProcessing post = read_post_processing(text_of(root, "post_processor"));
  parts.options.added_tokens = read_added_tokens_list(root);
  parts.options.normalize = read_normalization(text_of(root, "normalizer"));
  parts.options.split = splitting.split;
  parts.options.keeps_spaces = splitting.keeps_spaces;
  parts.options.needs_alignment = splitting.needs_alignment;
  parts.options.trim_spans = post.trim_spans;
  parts.options.add_prefix_space = post.add_prefix_space;
  parts.special = post.special;
  parts.model = read_model(*model, splitting.byte_level);
  return parts;
}

namespace {

NormalizationStep step_of(const Json& normalizer);

NormalizationStep sequence_of(const Json& normalizer) {
  const Json* list = member(normalizer, "normalizers");
  if (list == nullptr || !list->is_array()) {
    throw Error(Code::kBadData, "normalizer.normalizers is not a list");
  }
  std::vector<NormalizationStep> steps;
  for (const Json& each : *list) steps.push_back(step_of(each));
  return in_sequence(std::move(steps));
}

NormalizationStep bert_of(const Json& normalizer) {
  const bool lowercase = bool_member(normalizer, "lowercase").value_or(true);
  return bert_normalization(
      {.clean_text = bool_member(normalizer, "clean_text").value_or(true),
       .handle_chinese_chars = bool_member(normalizer, "handle_chinese_chars").value_or(true),
       .strip_accents = bool_member(normalizer, "strip_accents").value_or(lowercase),
       .lowercase = lowercase});
}

// Accepts a literal, or one of the regular expressions that files of the BERT family contain.
NormalizationStep replace_of(const Json& normalizer) {
  const Json* pattern = member(normalizer, "pattern");
  const std::string content = string_member(normalizer, "content").value_or("");
  if (pattern == nullptr) throw Error(Code::kBadData, "normalizer.pattern is missing");
  if (const auto literal = string_member(*pattern, "String")) {
    if (literal->empty()) throw Error(Code::kBadData, "normalizer.pattern is empty");
    return replacing(*literal, content);
  }
  const std::string regex = string_member(*pattern, "Regex").value_or("");
  if (regex == " {2,}") return replacing_runs(' ', 2, content);
  if (regex == "\\s{2,}|[\\n\\r\\t]") return replacing_spaces(content);
  throw Error(Code::kBadData, cat("normalizer.pattern is ", quoted(regex),
                                  ", a regular expression that berth does not support"));
}

NormalizationStep precompiled_of(const Json& normalizer) {
  const auto text = string_member(normalizer, "precompiled_charsmap");
  const auto blob = text ? decode_base64(*text) : std::nullopt;
  if (!blob) throw Error(Code::kBadData, "normalizer.precompiled_charsmap is not base64");
  return precompiled(Charsmap(*blob));
}

NormalizationStep prepend_of(const Json& normalizer) {
  const auto prefix = string_member(normalizer, "prepend");
  if (!prefix || prefix->empty()) throw Error(Code::kBadData, "normalizer.prepend is empty");
  return prepending(*prefix);
}

NormalizationStep step_of(const Json& normalizer) {
  const std::string type = string_member(normalizer, "type").value_or("");
  if (type == "Sequence") return sequence_of(normalizer);
  if (type == "BertNormalizer") return bert_of(normalizer);
  if (type == "NFC") return unicode_form(UnicodeForm::kNfc);
  if (type == "NFD") return unicode_form(UnicodeForm::kNfd);
  if (type == "NFKC") return unicode_form(UnicodeForm::kNfkc);
  if (type == "NFKD") return unicode_form(UnicodeForm::kNfkd);
  if (type == "Lowercase") return lower_casing();
  if (type == "StripAccents") return accent_stripping();
  if (type == "Replace") return replace_of(normalizer);
  if (type == "Precompiled") return precompiled_of(normalizer);
  if (type == "Prepend") return prepend_of(normalizer);
  if (type == "Strip") {
    return trimming(bool_member(normalizer, "strip_left").value_or(true),
                    bool_member(normalizer, "strip_right").value_or(true));
  }
  throw Error(Code::kBadData,
              cat("normalizer.type is ", quoted(type), ", which berth does not support"));
}

}  // namespace

NormalizationStep read_normalization(std::string_view json) {
  const Json normalizer = parse_json(json);
  return normalizer.is_null() ? NormalizationStep() : step_of(normalizer);
}

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

namespace {

// The two texts one after the other, without special tokens.
SpecialTokensTemplate no_special_tokens() {
  return {.single = {{TemplatePart::kFirst, -1, 0}},
          .pair = {{TemplatePart::kFirst, -1, 0}, {TemplatePart::kSecond, -1, 1}}};
}

// Returns the id in "cls" or "sep" of BertProcessing and RobertaProcessing, which is [token, id].
int32_t member_id(const Json& processor, const char* name) {
  const Json* pair = member(processor, name);
  if (pair == nullptr || !pair->is_array() || pair->size() != 2) {
    throw Error(Code::kBadData, cat("post_processor.", name, " is not a token and its id"));
  }
  return count_of((*pair)[1], "the id of a special token");
}

void add_special_token(const Json& processor, const Json& token, std::vector<TemplatePart>& parts) {
  const std::string name = string_member(token, "id").value_or("");
  const Json* type = member(token, "type_id");
  const Json* known = member(processor, "special_tokens");
  const Json* entry = known == nullptr ? nullptr : member(*known, name.c_str());
  const Json* ids = entry == nullptr ? nullptr : member(*entry, "ids");
  if (ids == nullptr || !ids->is_array()) {
    throw Error(Code::kBadData, cat("post_processor.special_tokens has no ids of ", quoted(name)));
  }
  for (const Json& id : *ids) {
    parts.push_back({TemplatePart::kToken, count_of(id, "the id of a special token"),
                     type == nullptr ? 0 : count_of(*type, "type_id")});
  }
}

void add_sequence(const Json& sequence, std::vector<TemplatePart>& parts) {
  const std::string name = string_member(sequence, "id").value_or("");
  if (name != "A" && name != "B") {
    throw Error(Code::kBadData,
                cat("a Sequence of post_processor is ", quoted(name), ", not A or B"));
  }
  const TemplatePart::Kind kind = name == "A" ? TemplatePart::kFirst : TemplatePart::kSecond;
  const auto same = [&](const TemplatePart& part) { return part.kind == kind; };
  if (std::any_of(parts.begin(), parts.end(), same)) {
    throw Error(Code::kBadData, cat("post_processor has the text ", name, " twice"));
  }
  const Json* type = member(sequence, "type_id");
  parts.push_back({kind, -1, type == nullptr ? 0 : count_of(*type, "type_id")});
}

std::vector<TemplatePart> template_of(const Json& processor, const char* name) {
  std::vector<TemplatePart> parts;
  const Json* list = member(processor, name);
  if (list == nullptr || !list->is_array()) {
    throw Error(Code::kBadData, cat("post_processor.", name, " is not a list"));
  }
  for (const Json& part : *list) {
    if (const Json* token = member(part, "SpecialToken")) {
      add_special_token(processor, *token, parts);
    } else if (const Json* sequence = member(part, "Sequence")) {
      add_sequence(*sequence, parts);
    } else {
      throw Error(Code::kBadData,
                  cat("post_processor.", name, " holds neither SpecialToken nor Sequence"));
    }
  }
  return parts;
}

void read_trimming(const Json& processor, PostProcessing& post) {
  post.trim_spans = bool_member(processor, "trim_offsets").value_or(true);
  post.add_prefix_space = bool_member(processor, "add_prefix_space").value_or(true);
}

void read_one(const Json& processor, PostProcessing& post) {
  const std::string type = string_member(processor, "type").value_or("");
  const bool adds_tokens = type.ends_with("Processing");
  if (adds_tokens && !(post.special == no_special_tokens())) {
    throw Error(Code::kBadData,
                "post_processor has two steps that put special tokens around a text, and berth "
                "computes one");
  }
  if (type == "Sequence") {
    const Json* list = member(processor, "processors");
    if (list == nullptr || !list->is_array()) {
      throw Error(Code::kBadData, "post_processor.processors is not a list");
    }
    for (const Json& each : *list) read_one(each, post);
  } else if (type == "BertProcessing") {
    post.special =
        SpecialTokensTemplate::bert(member_id(processor, "cls"), member_id(processor, "sep"));
  } else if (type == "RobertaProcessing") {
    post.special =
        SpecialTokensTemplate::roberta(member_id(processor, "cls"), member_id(processor, "sep"));
    read_trimming(processor, post);
  } else if (type == "TemplateProcessing") {
    post.special = {template_of(processor, "single"), template_of(processor, "pair")};
  } else if (type == "ByteLevel") {
    read_trimming(processor, post);
  } else {
    throw Error(Code::kBadData,
                cat("post_processor.type is ", quoted(type), ", which berth does not support"));
  }
}

}  // namespace

PostProcessing read_post_processing(std::string_view json) {
  const Json processor = parse_json(json);
  PostProcessing post{.special = no_special_tokens()};
  if (!processor.is_null()) read_one(processor, post);
  return post;
}

}  // namespace berth
