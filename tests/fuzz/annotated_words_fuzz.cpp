#include "storage/base/bytes.h"
#include "storage/base/error.h"
#include "storage/formats/utf8.h"
#include "trainer/data/annotated_words.h"

// The input is a line of text, followed by its annotations.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input = berth::as_text(std::as_bytes(std::span(data, size)));
  const size_t end = std::min(input.find('\n'), size);
  const std::string_view text = input.substr(0, end);
  if (berth::find_invalid_utf8(text)) return 0;
  try {
    const berth::AnnotatedWords result = berth::annotated_words(text, input.substr(end));
    size_t kept = 0;
    for (const std::string& word : result.words) kept += word.size();
    if (kept > text.size() || result.words.size() != result.tags.size()) __builtin_trap();
  } catch (const berth::Error&) {
  }
  return 0;
}
