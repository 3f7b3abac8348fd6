#include "trainer/corpus/clean_text.h"

#include <algorithm>

#include "trainer/corpus/corpus_characters.h"
#include "trainer/text/unicode.h"
#include "trainer/text/unicode_forms.h"

namespace berth {
namespace {

// Appends the composed form of a run that begins with a stable character, if it has any.
void append_composed(std::string_view run, std::string& out) {
  char bytes[4];
  to_unicode_form(run, UnicodeForm::kNfc,
                  [&](ChangedCharacter each) { out.append(bytes, encode_utf8(each.c, bytes)); });
}

// Folds blanks and removes controls. The result is never longer than the text. Returns whether
// the result must still be composed.
bool fold_blanks(std::string_view text, std::string& folded) {
  const CorpusCharacters& characters = CorpusCharacters::shared();
  folded.resize(text.size());
  char* const begin = folded.data();
  char* out = begin;
  bool has_unstable = false;
  char pending = 0;  // the blank to write before the next character
  for (size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    const DecodedCharacter next =
        byte < 0x80 ? DecodedCharacter{byte, 1} : decode_utf8(text.substr(at));
    const uint8_t kind = characters.of(next.code_point);
    if (kind & (CorpusCharacters::kBlank | CorpusCharacters::kLineEnd)) {
      if (kind & CorpusCharacters::kLineEnd) {
        pending = '\n';
      } else if (pending == 0) {
        pending = ' ';
      }
    } else if (!(kind & CorpusCharacters::kControl)) {
      if (pending != 0 && out != begin) *out++ = pending;
      pending = 0;
      out = std::copy_n(text.data() + at, next.size_bytes, out);
      has_unstable |= (kind & CorpusCharacters::kUnstable) != 0;
    }
    at += next.size_bytes;
  }
  folded.resize(static_cast<size_t>(out - begin));
  return has_unstable;
}

}  // namespace

std::string composed_text(std::string_view text) {
  const CorpusCharacters& characters = CorpusCharacters::shared();
  std::string out;
  out.reserve(text.size());
  size_t copied = 0;  // the text before it is in `out`
  size_t last = 0;    // where the last stable character begins
  for (size_t at = 0; at < text.size();) {
    const DecodedCharacter next = decode_utf8(text.substr(at));
    if (!(characters.of(next.code_point) & CorpusCharacters::kUnstable)) {
      last = at;
      at += next.size_bytes;
      continue;
    }
    size_t end = at;
    while (end < text.size()) {
      const DecodedCharacter following = decode_utf8(text.substr(end));
      if (!(characters.of(following.code_point) & CorpusCharacters::kUnstable)) break;
      end += following.size_bytes;
    }
    out.append(text, copied, last - copied);
    append_composed(text.substr(last, end - last), out);
    copied = last = at = end;
  }
  return out.append(text, copied);
}

void clean_text(std::string_view text, std::string& cleaned) {
  if (fold_blanks(text, cleaned)) cleaned = composed_text(cleaned);
}

}  // namespace berth
