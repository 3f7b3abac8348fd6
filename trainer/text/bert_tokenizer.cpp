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

// Those with `normalized` as asked; their patterns are normalized if they are.
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

struct Lengths {
  size_t first, second;
};

// How much of each text stays when both share `budget`: a shorter one that fits in its half stays
// whole, else the halves, with the odd one to the longer, or to the second if equal
// (tokenizers/src/utils/truncation.rs, LongestFirst).
Lengths longest_first(Lengths have, size_t budget) {
  if (have.first + have.second <= budget) return have;
  const size_t shorter = std::min(have.first, have.second);
  Lengths keep{budget / 2, budget - budget / 2};
  if (shorter <= budget / 2) keep = {shorter, budget - shorter};
  if (have.first > have.second) std::swap(keep.first, keep.second);
  return keep;
}

}  // namespace

BertTokenizer::BertTokenizer(WordPiece wordpiece, BertTokenizerOptions options)
    : options_(std::move(options)),
      wordpiece_(std::move(wordpiece)),
      normalizer_(normalizer_options(options_)),
      untouched_(kNothing),
      raw_tokens_(finder(options_.added_tokens, false, normalizer_)),
      normalized_tokens_(finder(options_.added_tokens, true, normalizer_)),
      cls_id_(id_of_special(options_.cls_token)),
      sep_id_(id_of_special(options_.sep_token)),
      vocab_size_(wordpiece_.size()) {
  for (const AddedToken& token : options_.added_tokens) {
    vocab_size_ = std::max(vocab_size_, token.id + 1);
  }
}

int32_t BertTokenizer::id_of_special(const std::string& token) const {
  for (const AddedToken& added : options_.added_tokens) {
    if (added.content == token) return added.id;
  }
  const int32_t id = wordpiece_.find(token);
  if (id < 0) throw Error(Code::kBadData, cat("the vocabulary has no ", quoted(token)));
  return id;
}

void BertTokenizer::append_words(const Normalizer& normalizer, std::string_view text, size_t enough,
                                 std::vector<int32_t>& ids) const {
  WordSplitter words(wordpiece_, enough, ids);
  normalizer.normalize(text, words);
  words.end_word();
}

void BertTokenizer::append(std::string_view text, size_t enough, std::vector<int32_t>& ids) const {
  raw_tokens_.split(text, [&](AddedTokenFinder::Piece piece) {
    if (piece.id >= 0) {
      ids.push_back(piece.id);
    } else if (normalized_tokens_.empty()) {
      append_words(normalizer_, piece.text, enough, ids);
    } else {
      const std::string normalized = normalizer_.normalized(piece.text);
      normalized_tokens_.split(normalized, [&](AddedTokenFinder::Piece part) {
        if (part.id >= 0) {
          ids.push_back(part.id);
        } else {
          append_words(untouched_, part.text, enough, ids);
        }
        return ids.size() < enough;
      });
    }
    return ids.size() < enough;
  });
}

Encoding BertTokenizer::encode(std::string_view text, std::optional<std::string_view> text_pair,
                               int32_t max_length) const {
  const size_t special_tokens = text_pair ? 3 : 2;
  if (max_length < static_cast<int32_t>(special_tokens)) {
    throw Error(Code::kUsage, cat("a length of ", max_length, " leaves no room for the ",
                                  special_tokens, " special tokens of an example"));
  }
  const size_t budget = static_cast<size_t>(max_length) - special_tokens;
  Encoding encoding;
  std::vector<int32_t>& ids = encoding.input_ids;
  ids.reserve(std::min(budget + special_tokens, text.size() / 3 + 16));
  ids.push_back(cls_id_);
  if (!text_pair) {
    append(text, 1 + budget, ids);
    ids.resize(std::min(ids.size(), 1 + budget));
    ids.push_back(sep_id_);
    encoding.token_type_ids.assign(ids.size(), 0);
    return encoding;
  }
  std::vector<int32_t> second;
  append(text, SIZE_MAX, ids);
  append(*text_pair, SIZE_MAX, second);
  const Lengths keep = longest_first({ids.size() - 1, second.size()}, budget);
  ids.resize(1 + keep.first);
  ids.push_back(sep_id_);
  encoding.token_type_ids.assign(ids.size(), 0);
  ids.insert(ids.end(), second.begin(), second.begin() + static_cast<std::ptrdiff_t>(keep.second));
  ids.push_back(sep_id_);
  encoding.token_type_ids.resize(ids.size(), 1);
  return encoding;
}

std::vector<Tokenizer::File> BertTokenizer::files() const {
  return bert_tokenizer_files(wordpiece_, options_);
}

}  // namespace berth
