#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/text/pipeline.h"

namespace berth {

// Everything that defines one tokenizer of the `tokenizers` library, as its files state it.
struct PipelineParts {
  PipelineOptions options;
  std::unique_ptr<const WordModel> model;
  SpecialTokensTemplate special;
  std::vector<Tokenizer::File> files;  // the files that it was loaded from
};

// A tokenizer that runs a Pipeline: byte-level BPE, and whatever tokenizer.json describes. Its
// results equal the results of `tokenizers` 0.23. Immutable and thread-safe.
class PipelineTokenizer final : public TemplateTokenizer {
 public:
  explicit PipelineTokenizer(PipelineParts parts);

  int32_t vocab_size() const override { return vocab_size_; }
  std::string token(int32_t id) const override;
  std::vector<File> files() const override { return files_; }

 protected:
  void append(std::string_view text, Tokens& tokens) const override;
  bool drops_space(std::string_view word) const override { return pipeline_.drops_space(word); }

 private:
  std::unique_ptr<const WordModel> model_;
  std::vector<AddedToken> added_tokens_;
  Pipeline pipeline_;
  std::vector<File> files_;
  int32_t vocab_size_;
};

}  // namespace berth
