#include "trainer/text/bert_tokenizer.h"

#include <algorithm>
#include <utility>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "trainer/text/bert_tokenizer_files.h"
#include "trainer/text/word_splitter.h"

namespace berth {

namespace {

NormalizerOptions normalizer_options(const BertTokenizerOptions& options) {
  return {.clean_text = options.clean_text,
          .handle_chinese_chars = options.handle_chinese_chars,
          .strip_accents = options.strip_accents.value_or(options.lowercase),
          .lowercase = options.lowercase};
}

constexpr NormalizerOptions kNothing{false, false, false, false};

// A finder for the tokens whose `normalized` flag has this value. If it is set, their patterns are
// normalized.
AddedTokenFinder finder(const std::vector<AddedToken>& tokens, bool normalized,
                        const Normalizer& normalizer) {
  std::vector<AddedToken> chosen;
  std::vector<std::string> patterns;
  for (const AddedToken& token : tokens) {
    if (token.normalized != normalized) continue;
    chosen.push_back(token);
    patterns.push_back(normalized ? normalizer.normalized(token.content) : token.content);
  }
  return AddedTokenFinder(std::move(chosen), patterns);
}

int32_t id_of_special(const std::string& token, const WordPiece& wordpiece,
                      const BertTokenizerOptions& options) {
  for (const AddedToken& added : options.added_tokens) {
    if (added.content == token) return added.id;
  }
  const int32_t id = wordpiece.find(token);
  if (id < 0) throw Error(Code::kBadData, cat("the vocabulary has no ", quoted(token)));
  return id;
}

SpecialTokensTemplate template_of(const WordPiece& wordpiece, const BertTokenizerOptions& options) {
  const int32_t cls = id_of_special(options.cls_token, wordpiece, options);
  const int32_t sep = id_of_special(options.sep_token, wordpiece, options);
  SpecialTokensTemplate special = options.separates_twice ? SpecialTokensTemplate::roberta(cls, sep)
                                                          : SpecialTokensTemplate::bert(cls, sep);
  if (!options.has_token_types) special.remove_types();
  special.cuts_left = options.cuts_left;
  return special;
}

PipelineOptions pipeline_options(const BertTokenizerOptions& options) {
  return {.added_tokens = options.added_tokens,
          .normalize = bert_normalization(normalizer_options(options)),
          .split = bert_splitting(),
          .splits_at_spaces = true};
}

}  // namespace

BertTokenizer::BertTokenizer(WordPiece wordpiece, BertTokenizerOptions options)
    : TemplateTokenizer(template_of(wordpiece, options)),
      options_(std::move(options)),
      wordpiece_(std::move(wordpiece)),
      normalizer_(normalizer_options(options_)),
      untouched_(kNothing),
      raw_tokens_(finder(options_.added_tokens, false, normalizer_)),
      normalized_tokens_(finder(options_.added_tokens, true, normalizer_)),
      model_(wordpiece_),
      aligned_(pipeline_options(options_), model_),
      vocab_size_(wordpiece_.size()) {
  for (const AddedToken& token : options_.added_tokens) {
    vocab_size_ = std::max(vocab_size_, token.id + 1);
  }
}

std::string BertTokenizer::token(int32_t id) const {
  for (const AddedToken& added : options_.added_tokens) {
    if (added.id == id) return added.content;
  }
  return model_.token(id);
}

void BertTokenizer::append_words(const Normalizer& normalizer, std::string_view text,
                                 Tokens& tokens) const {
  auto words = word_splitter(wordpiece_, tokens.enough, tokens.ids);
  normalizer.normalize(text, words);
  words.end_word();
}

void BertTokenizer::append(std::string_view text, Tokens& tokens) const {
  if (tokens.with_spans) {
    aligned_.append(text, tokens);
    return;
  }
  raw_tokens_.split(text, [&](AddedTokenFinder::Piece piece) {
    if (piece.id >= 0) {
      tokens.ids.push_back(piece.id);
    } else if (normalized_tokens_.empty()) {
      append_words(normalizer_, piece.text, tokens);
    } else {
      const std::string normalized = normalizer_.normalized(piece.text);
      normalized_tokens_.split(normalized, [&](AddedTokenFinder::Piece part) {
        if (part.id >= 0) {
          tokens.ids.push_back(part.id);
        } else {
          append_words(untouched_, part.text, tokens);
        }
        return !tokens.full();
      });
    }
    return !tokens.full();
  });
}

std::vector<Tokenizer::File> BertTokenizer::files() const {
  return bert_tokenizer_files(wordpiece_, options_);
}

}  // namespace berth
