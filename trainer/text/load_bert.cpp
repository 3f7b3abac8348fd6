#include <algorithm>
#include <utility>
#include <vector>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "trainer/text/bert_tokenizer.h"
#include "trainer/text/load_kinds.h"
#include "trainer/text/tokenizer_settings.h"
#include "trainer/text/unicode.h"

namespace berth {

namespace {

// One piece per line; the line number is the id. As in Python, a line ends with \n, \r\n or \r.
std::vector<std::string> vocabulary_of_lines(std::string_view content) {
  std::vector<std::string> pieces;
  while (!content.empty()) {
    const size_t end = std::min(content.find_first_of("\r\n"), content.size());
    const std::string_view line = content.substr(0, end);
    if (!is_valid_utf8(line)) {
      throw Error(Code::kBadData, cat("line ", pieces.size() + 1, " is not UTF-8"));
    }
    pieces.emplace_back(line);
    content.remove_prefix(end);
    content.remove_prefix(content.starts_with("\r\n") ? 2 : content.empty() ? 0 : 1);
  }
  return pieces;
}

// Whether any piece has a capital letter, apart from pieces like "[UNK]" and "[unused1]".
bool is_cased(const std::vector<std::string>& pieces) {
  return std::any_of(pieces.begin(), pieces.end(), [](const std::string& piece) {
    if (piece.starts_with('[') && piece.ends_with(']')) return false;
    return std::any_of(piece.begin(), piece.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
  });
}

// What transformers' MPNetTokenizer has where the files do not say otherwise.
void name_mpnet_tokens(TokenizerSettings& settings) {
  settings.options.separates_twice = true;
  settings.options.cls_token = "<s>";
  settings.options.sep_token = "</s>";
  settings.options.pad_token = "<pad>";
  settings.options.mask_token = "<mask>";
  settings.added_tokens.push_back({.content = "<mask>", .lstrip = true});
}

struct Folder {
  TokenizerSettings settings;
  std::vector<std::string> pieces;
  const char* vocabulary_name = "vocab.txt";
  bool is_bert = true;
};

// Reads vocab.txt and the settings of tokenizer_config.json. Reads tokenizer.json, which takes
// longer, only if the vocabulary or the case is still missing.
Folder read_folder(const FileLookup& file) {
  Folder folder;
  TokenizerSettings& settings = folder.settings;
  if (tokenizer_kind(file) == TokenizerKind::kMpnet) name_mpnet_tokens(settings);
  const bool has_vocabulary = read_if_present(
      file("vocab.txt"), "vocab.txt",
      [&](const std::string& content) { folder.pieces = vocabulary_of_lines(content); });
  const auto config = file("tokenizer_config.json");
  const auto read_config = [&](TokenizerSettings& into) {
    read_if_present(config, "tokenizer_config.json",
                    [&](const std::string& content) { read_tokenizer_config(content, into); });
  };
  TokenizerSettings configured;
  read_config(configured);
  if (!has_vocabulary || !configured.lowercase) {
    read_if_present(file("tokenizer.json"), "tokenizer.json", [&](const std::string& content) {
      auto pieces = read_bert_tokenizer_json(content, settings);
      folder.is_bert = pieces.has_value();
      if (pieces && !has_vocabulary) folder.pieces = std::move(*pieces);
    });
    if (!has_vocabulary) folder.vocabulary_name = "tokenizer.json";
  }
  if (!folder.is_bert) return folder;
  read_if_present(file("special_tokens_map.json"), "special_tokens_map.json",
                  [&](const std::string& content) { read_special_tokens_map(content, settings); });
  read_if_present(file("added_tokens.json"), "added_tokens.json",
                  [&](const std::string& content) { read_added_tokens(content, settings); });
  read_config(settings);
  return folder;
}

}  // namespace

std::unique_ptr<Tokenizer> load_bert_tokenizer(const FileLookup& file,
                                               const TokenizerOverrides& overrides) {
  Folder folder = read_folder(file);
  if (!folder.is_bert) return nullptr;
  TokenizerSettings& settings = folder.settings;
  if (overrides.do_lower_case) settings.lowercase = overrides.do_lower_case;
  settings.options.has_token_types = !is_distilbert(file);
  settings.options.lowercase = settings.lowercase.value_or(!is_cased(folder.pieces));
  try {
    WordPiece wordpiece(folder.pieces, settings.wordpiece);
    settings.options.added_tokens =
        added_tokens_with_ids(settings, wordpiece.size(),
                              [&](const std::string& token) { return wordpiece.find(token); });
    return std::make_unique<BertTokenizer>(std::move(wordpiece), std::move(settings.options));
  } catch (const Error& error) {
    throw error.at(folder.vocabulary_name);
  }
}

}  // namespace berth
