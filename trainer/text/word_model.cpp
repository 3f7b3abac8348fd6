#include "trainer/text/word_model.h"

#include "trainer/text/unicode.h"

namespace berth {

std::string WordPieceModel::token(int32_t id) const {
  return id >= 0 && id < wordpiece_.size() ? std::string(wordpiece_.piece(id)) : "";
}

void WordPieceModel::append(std::string_view word, size_t offset, Tokens& tokens) const {
  const auto span = [&](size_t begin, size_t end) {
    return Span{static_cast<uint32_t>(offset + begin), static_cast<uint32_t>(offset + end)};
  };
  const size_t before = tokens.ids.size();
  if (count_characters(word) > wordpiece_.options().max_input_chars_per_word) {
    tokens.add(wordpiece_.unk_id(), span(0, word.size()));
    return;
  }
  uint64_t hash = WordPiece::kHashSeed;
  for (const char byte : word) hash = WordPiece::hash_step(hash, byte);
  wordpiece_.append(word, hash, tokens.ids);
  if (!tokens.with_spans) return;
  if (tokens.ids.size() == before + 1) {  // the whole word, or the unknown token
    tokens.spans.push_back(span(0, word.size()));
    return;
  }
  size_t begin = 0;
  const size_t prefix = wordpiece_.options().continuing_subword_prefix.size();
  for (size_t i = before; i < tokens.ids.size(); ++i) {
    const size_t size = wordpiece_.piece(tokens.ids[i]).size() - (i > before ? prefix : 0);
    tokens.spans.push_back(span(begin, begin + size));
    begin += size;
  }
}

}  // namespace berth
