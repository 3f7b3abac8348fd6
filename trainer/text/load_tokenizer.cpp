#include "trainer/text/load_tokenizer.h"

#include <map>
#include <memory>
#include <utility>

#include "trainer/text/load_kinds.h"

namespace berth {

namespace {

constexpr const char* kSentencePieceNames[] = {"sentencepiece.bpe.model", "spiece.model",
                                               "spm.model", "tokenizer.model",
                                               "sentencepiece.model"};

// Caches the files, because several kinds ask for the same ones and they may be remote.
FileLookup remembered(const FileLookup& file) {
  auto known = std::make_shared<std::map<std::string, std::optional<std::string>, std::less<>>>();
  return [&file, known](std::string_view name) {
    const auto found = known->find(name);
    return found != known->end() ? found->second : known->emplace(name, file(name)).first->second;
  };
}

}  // namespace

std::unique_ptr<Tokenizer> load_tokenizer(const FileLookup& lookup,
                                          const TokenizerOverrides& overrides) {
  const FileLookup file = remembered(lookup);
  const TokenizerKind kind = tokenizer_kind(file);
  const bool may_be_bert = kind == TokenizerKind::kBert || kind == TokenizerKind::kMpnet ||
                           kind == TokenizerKind::kUnknown;
  if (may_be_bert && file("vocab.txt")) {
    if (auto tokenizer = load_bert_tokenizer(file, overrides)) return tokenizer;
  }
  if (const auto content = file("tokenizer.json")) {
    if (auto tokenizer = load_bert_tokenizer(file, overrides)) return tokenizer;
    return load_pipeline(file, *content);
  }
  if (auto vocabulary = file("vocab.json")) {
    auto merges = file("merges.txt");
    if (!merges) {
      throw Error(Code::kNotFound, "no merges.txt beside vocab.json", "",
                  "add merges.txt, or use a tokenizer.json instead");
    }
    return load_byte_level(file, std::move(*vocabulary), std::move(*merges), kind);
  }
  for (const char* name : kSentencePieceNames) {
    if (auto content = file(name)) {
      return load_sentencepiece(file, name, std::move(*content), kind);
    }
  }
  if (file("vocab.txt")) return load_bert_tokenizer(file, overrides);
  throw Error(
      Code::kNotFound,
      "no tokenizer: no vocab.txt, tokenizer.json, vocab.json with merges.txt or .model file", "",
      "pass --vocab-file");
}

}  // namespace berth
