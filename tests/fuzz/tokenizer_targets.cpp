#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "tests/fuzz/fuzz_target.h"
#include "trainer/text/load_tokenizer.h"

namespace berth {
namespace {

constexpr std::string_view kVocabulary =
    "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\n##a\n##b\nab\n!\n\xE4\xB8\xAD\n\xC3\xA9\n";
constexpr std::string_view kTokenizerFiles[] = {
    "vocab.txt",         "tokenizer_config.json", "special_tokens_map.json",
    "added_tokens.json", "tokenizer.json",        "vocab.json",
    "merges.txt"};
constexpr std::string_view kBytePieces =
    R"({"<s>": 0, "</s>": 1, "a": 2, "b": 3, "ab": 4, "!": 5, "\u0120": 6})";

std::unique_ptr<Tokenizer> load_file(std::string_view name, std::string_view content) {
  return load_tokenizer([&](std::string_view wanted) -> std::optional<std::string> {
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

Tokenizer& fixed_tokenizer() {
  static const auto fixed = load_file("vocab.txt", kVocabulary);
  return *fixed;
}

void read_tokenizer(uint8_t kind, Bytes input) {
  const std::string_view rest = as_text(input);
  const size_t choice = kind % 10;
  if (choice >= std::size(kTokenizerFiles)) {
    fixed_tokenizer().encode(rest, std::nullopt, 64);
    fixed_tokenizer().encode(rest.substr(0, rest.size() / 2), rest.substr(rest.size() / 2), 7);
  } else {
    const auto loaded = load_file(kTokenizerFiles[choice], rest);
    EncodeOptions options(32);
    options.with_offsets = kind >= 128;
    loaded->encode("ab [MASK] \xC3\x89!", rest, options);
    loaded->files();
  }
}

// The first byte chooses whether the rest is encoded with a fixed vocabulary or loaded as one of
// the tokenizer's files.
void tokenizer(Bytes input) {
  fixed_tokenizer();
  may_refuse([&] { read_chosen(input, read_tokenizer); });
}

void read_sentencepiece(uint8_t kind, Bytes input) {
  const std::string_view model = as_text(input);
  const bool is_bare = kind % 2 == 0;
  const auto loaded = load_tokenizer([&](std::string_view name) -> std::optional<std::string> {
    if (name == (is_bare ? "spiece.model" : "sentencepiece.bpe.model")) return std::string(model);
    if (name == "config.json" && !is_bare) return R"({"model_type": "xlm-roberta"})";
    return std::nullopt;
  });
  EncodeOptions options(64);
  options.with_offsets = true;
  loaded->encode("ab <s> \xC3\x89!", model.substr(0, 200), options);
  loaded->files();
}

// Loads the bytes as the .model file of a folder without a config or of XLM-RoBERTa, and encodes a
// text with it.
void sentencepiece(Bytes input) {
  may_refuse([&] { read_chosen(input, read_sentencepiece); });
}

const FuzzTargets kTokenizerTargets = {{"sentencepiece", sentencepiece}, {"tokenizer", tokenizer}};

}  // namespace
}  // namespace berth
