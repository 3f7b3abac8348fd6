#include <algorithm>
#include <utility>
#include <vector>

#include "storage/base/error.h"
#include "storage/base/known_keys.h"
#include "storage/base/log.h"
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

// Warns where the tokenizer writes words in another case than the vocabulary has them.
void warn_of_case(const std::vector<std::string>& pieces, bool lowercase) {
  const auto has_capital = [](const std::string& piece) {
    return !piece.starts_with('[') && !piece.starts_with('<') &&
           std::any_of(piece.begin(), piece.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
  };
  const auto has_letter = [](const std::string& piece) {
    return !piece.starts_with('[') && !piece.starts_with('<') &&
           std::any_of(piece.begin(), piece.end(), [](char c) { return c >= 'a' && c <= 'z'; });
  };
  const auto capitals = std::count_if(pieces.begin(), pieces.end(), has_capital);
  const auto letters = std::count_if(pieces.begin(), pieces.end(), has_letter);
  if (lowercase && capitals >= 20 && capitals * 100 >= letters) {
    log_warning(cat("the tokenizer lower-cases texts, but ", capitals,
                    " pieces of its vocabulary have capital letters, which it never makes: if the "
                    "model is a cased one, give --no-do-lower-case"));
  } else if (!lowercase && capitals == 0 && letters >= 20) {
    log_warning(
        "the tokenizer keeps capital letters, but no piece of its vocabulary has one, so it does "
        "not know such words: if the model is an uncased one, give --do-lower-case");
  }
}

// Lower-casing before a normalizer that does not lower-case is the same as lower-casing in it, but
// for accents, which stay unless the normalizer strips them.
void lower_first(BertTokenizerOptions& options) {
  if (options.lowercase) return;
  options.strip_accents = options.strip_accents.value_or(false);
  options.lowercase = true;
}

// Warns of special tokens that transformers would add to the vocabulary. To berth they are text.
void warn_of_absent_names(const TokenizerSettings& settings) {
  const BertTokenizerOptions& options = settings.options;
  std::vector<std::string> names = settings.other_names, absent;
  names.insert(names.end(), {options.pad_token, options.mask_token});
  for (const std::string& name : names) {
    const bool is_known = std::ranges::any_of(
        options.added_tokens, [&](const AddedToken& token) { return token.content == name; });
    if (!is_known && std::ranges::find(absent, name) == absent.end()) absent.push_back(name);
  }
  if (absent.empty()) return;
  log_warning(cat("vocab.txt has no ", listed_keys(absent),
                  ". transformers 5 gives such special tokens new ids; to berth they are text"));
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

// Takes that <mask> out again where it is no token: a file names another one, or the vocabulary has
// none.
void remove_absent_mask(const std::vector<std::string>& pieces, TokenizerSettings& settings) {
  const bool is_token = settings.options.mask_token == "<mask>" &&
                        std::ranges::find(pieces, "<mask>") != pieces.end();
  std::erase_if(settings.added_tokens, [&](const AddedToken& token) {
    return !is_token && token.content == "<mask>" && token.id < 0;
  });
}

}  // namespace

std::unique_ptr<Tokenizer> load_bert_json(const FileLookup& file, const Json& root,
                                          const TokenizerOverrides& overrides) {
  TokenizerSettings settings, beside;
  const auto pieces = read_bert_tokenizer_json(root, settings);
  if (!pieces) return nullptr;
  read_settings(file, beside);
  BertTokenizerOptions& options = settings.options;
  if (options.separates_twice) name_mpnet_tokens(beside);
  options.pad_token = beside.options.pad_token;
  options.mask_token = beside.options.mask_token;
  options.model_max_length = beside.options.model_max_length;
  options.lowercase = overrides.do_lower_case.value_or(*settings.lowercase);
  const SequenceSettings sequences = sequence_settings(file, &root);
  options.has_token_types = !is_distilbert(file) && sequences.has_types;
  options.cuts_left = sequences.cuts_left;
  if (overrides.lowers_first) lower_first(options);
  warn_of_case(*pieces, options.lowercase);
  options.added_tokens = std::move(settings.added_tokens);
  return std::make_unique<BertTokenizer>(WordPiece(*pieces, settings.wordpiece),
                                         std::move(options));
}

std::unique_ptr<Tokenizer> load_bert_tokenizer(const FileLookup& file, const TokenizerClass& of,
                                               const TokenizerOverrides& overrides, bool warns) {
  TokenizerSettings settings;
  std::vector<std::string> pieces;
  if (of.kind == TokenizerKind::kMpnet) name_mpnet_tokens(settings);
  read_if_present(file("vocab.txt"), "vocab.txt",
                  [&](const std::string& content) { pieces = vocabulary_of_lines(content); });
  read_settings(file, settings);
  if (of.kind == TokenizerKind::kMpnet) remove_absent_mask(pieces, settings);
  if (overrides.do_lower_case) settings.lowercase = overrides.do_lower_case;
  const SequenceSettings sequences = sequence_settings(file, nullptr);
  settings.options.has_token_types = !is_distilbert(file) && sequences.has_types;
  settings.options.cuts_left = sequences.cuts_left;
  const bool keeps_case = !settings.lowercase && is_cased(pieces);
  settings.options.lowercase = settings.lowercase.value_or(!keeps_case);
  if (warns && keeps_case) {
    log_warning(
        "no file says do_lower_case, and vocab.txt has capital letters, so berth keeps them; "
        "transformers 5 lower-cases. Give --no-do-lower-case or --do-lower-case, or write "
        "do_lower_case into tokenizer_config.json");
  }
  if (overrides.lowers_first) lower_first(settings.options);
  if (warns) warn_of_case(pieces, settings.options.lowercase);
  try {
    WordPiece wordpiece(pieces, settings.wordpiece);
    settings.options.added_tokens =
        added_tokens_with_ids(settings, wordpiece.size(),
                              [&](const std::string& token) { return wordpiece.find(token); });
    if (warns) warn_of_absent_names(settings);
    return std::make_unique<BertTokenizer>(std::move(wordpiece), std::move(settings.options));
  } catch (const Error& error) {
    throw error.at("vocab.txt");
  }
}

}  // namespace berth
