#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "trainer/text/bpe.h"
#include "trainer/text/json_reading.h"
#include "trainer/text/load_kinds.h"
#include "trainer/text/pipeline_json.h"

namespace berth {

namespace {

Bpe::Vocabulary parse_vocabulary(std::string_view content) {
  Bpe::Vocabulary vocabulary;
  const Json pieces = parse_object(content);
  vocabulary.reserve(pieces.size());
  for (const auto& [piece, id] : pieces.items()) {
    vocabulary.emplace_back(piece, count_of(id, "the id of a piece"));
  }
  return vocabulary;
}

void name_byte_level_tokens(TokenizerKind kind, TokenizerSettings& settings) {
  if (kind == TokenizerKind::kDeberta) return;  // DeBERTa uses BERT's names
  settings.options.cls_token = "<s>";
  settings.options.sep_token = "</s>";
  settings.options.pad_token = "<pad>";
  settings.wordpiece.unk_token = "<unk>";
  settings.options.mask_token = "<mask>";
  settings.added_tokens.push_back({.content = "<mask>", .lstrip = true});
}

}  // namespace

std::vector<std::pair<std::string, std::string>> read_merges(std::string_view content) {
  Bpe::Merges merges;
  for (size_t number = 1; !content.empty(); ++number) {
    const size_t end = std::min(content.find('\n'), content.size());
    std::string_view line = content.substr(0, end);
    content.remove_prefix(std::min(end + 1, content.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || (number == 1 && line.starts_with("#version"))) continue;
    const size_t space = line.find(' ');
    if (space == line.npos) throw Error(Code::kBadData, cat("line ", number, " is not two tokens"));
    merges.emplace_back(line.substr(0, space), line.substr(space + 1));
  }
  return merges;
}

std::unique_ptr<Tokenizer> load_byte_level(const FileLookup& file, std::string vocabulary,
                                           std::string merges, const TokenizerClass& of,
                                           const TokenizerOverrides& overrides) {
  const TokenizerKind kind = of.kind;
  TokenizerSettings settings;
  name_byte_level_tokens(kind, settings);
  read_settings(file, settings);
  Bpe::Merges pairs;
  read_if_present(merges, "merges.txt",
                  [&](const std::string& content) { pairs = read_merges(content); });
  PipelineParts parts;
  read_if_present(vocabulary, "vocab.json", [&](const std::string& content) {
    BpeOptions options;
    options.byte_level = true;
    parts.model = std::make_unique<Bpe>(parse_vocabulary(content), pairs, options);
    const WordModel& model = *parts.model;
    parts.options.added_tokens = added_tokens_with_ids(
        settings, model.vocab_size(), [&](const std::string& token) { return model.find(token); });
    const int32_t cls = id_of_token(settings.options.cls_token, parts.options.added_tokens);
    const int32_t sep = id_of_token(settings.options.sep_token, parts.options.added_tokens);
    parts.special = SpecialTokensTemplate::roberta(cls, sep);
  });
  parts.options.add_prefix_space = settings.add_prefix_space.value_or(false);
  parts.options.trim_spans = true;
  parts.options.keeps_spaces = true;
  parts.options.split = byte_level_splitting(parts.options.add_prefix_space, true);
  if (overrides.lowers_first) parts.options.normalize = lower_casing();
  sequence_settings(file, nullptr).apply(parts.special);
  parts.files = with_settings(
      file, of, {{"vocab.json", std::move(vocabulary)}, {"merges.txt", std::move(merges)}});
  return std::make_unique<PipelineTokenizer>(std::move(parts));
}

}  // namespace berth
