#include <cstdint>
#include <string>
#include <string_view>

#include "storage/base/error.h"
#include "trainer/text/load_tokenizer.h"

// The first byte chooses whether the rest is encoded with a fixed vocabulary or loaded as one of
// the tokenizer's files.
namespace {

constexpr std::string_view kVocabulary =
    "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\n##a\n##b\nab\n!\n\xE4\xB8\xAD\n\xC3\xA9\n";
constexpr std::string_view kNames[] = {
    "vocab.txt",         "tokenizer_config.json", "special_tokens_map.json",
    "added_tokens.json", "tokenizer.json",        "vocab.json",
    "merges.txt"};
constexpr std::string_view kBytePieces =
    R"({"<s>": 0, "</s>": 1, "a": 2, "b": 3, "ab": 4, "!": 5, "\u0120": 6})";

std::unique_ptr<berth::Tokenizer> load(std::string_view name, std::string_view content) {
  return berth::load_tokenizer([&](std::string_view wanted) -> std::optional<std::string> {
    if (wanted == name) return std::string(content);
    const bool is_bpe = name == "vocab.json" || name == "merges.txt";
    if (is_bpe && wanted == "vocab.json") return std::string(kBytePieces);
    if (is_bpe && wanted == "merges.txt") return "a b\n";
    if (wanted == "vocab.txt" && !is_bpe && name != "tokenizer.json") {
      return std::string(kVocabulary);
    }
    return std::nullopt;
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  static const auto fixed = load("vocab.txt", kVocabulary);
  const size_t choice = data[0] % 10;
  try {
    if (choice >= std::size(kNames)) {
      fixed->encode(rest, std::nullopt, 64);
      fixed->encode(rest.substr(0, rest.size() / 2), rest.substr(rest.size() / 2), 7);
    } else {
      const auto tokenizer = load(kNames[choice], rest);
      berth::EncodeOptions options(32);
      options.with_offsets = data[0] >= 128;
      tokenizer->encode("ab [MASK] \xC3\x89!", rest, options);
      tokenizer->files();
    }
  } catch (const berth::Error&) {
  }
  return 0;
}
