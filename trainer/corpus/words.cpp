#include "trainer/corpus/words.h"

#include "trainer/corpus/corpus_characters.h"
#include "trainer/corpus/text_hash.h"
#include "trainer/text/unicode.h"

namespace berth {
namespace {

constexpr uint64_t kNoWord = 0x51ED270B2A3F4C17;  // the hash of no character

uint64_t with_character(uint64_t hash, char32_t c) { return (hash ^ c) * 0x9FB21C651E98DF25; }

char32_t lowered(char32_t c) {
  if (c < 0x80) return 'A' <= c && c <= 'Z' ? c + 32 : c;
  return lower_case(c).items[0];
}

}  // namespace

TextMeasures find_words(std::string_view text, std::vector<Word>& words) {
  const CorpusCharacters& characters = CorpusCharacters::shared();
  TextMeasures measures;
  words.clear();
  Word word{kNoWord, 0};
  const auto end_word = [&] {
    if (word.characters == 0) return;
    words.push_back({mixed(word.hash), word.characters});
    word = {kNoWord, 0};
  };
  for (size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    const DecodedCharacter next =
        byte < 0x80 ? DecodedCharacter{byte, 1} : decode_utf8(text.substr(at));
    at += next.size_bytes;
    const uint8_t kind = characters.of(next.code_point);
    ++measures.characters;
    measures.visible += (kind & (CorpusCharacters::kBlank | CorpusCharacters::kLineEnd)) == 0;
    measures.letters += (kind & CorpusCharacters::kLetter) != 0;
    if (kind & CorpusCharacters::kInWord) {
      word.hash = with_character(word.hash, lowered(next.code_point));
      ++word.characters;
      continue;
    }
    end_word();
    if (kind & CorpusCharacters::kIdeograph) {
      words.push_back({mixed(with_character(kNoWord, next.code_point)), 1});
    }
  }
  end_word();
  return measures;
}

}  // namespace berth
