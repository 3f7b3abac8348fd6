#include "trainer/text/pipeline_tokenizer.h"

#include <algorithm>
#include <utility>

#include "storage/base/error.h"

namespace berth {

PipelineTokenizer::PipelineTokenizer(PipelineParts parts)
    : TemplateTokenizer(std::move(parts.special)),
      model_(std::move(parts.model)),
      added_tokens_(parts.options.added_tokens),
      pipeline_(std::move(parts.options), *model_),
      files_(std::move(parts.files)),
      vocab_size_(model_->vocab_size()) {
  for (const AddedToken& token : added_tokens_) vocab_size_ = std::max(vocab_size_, token.id + 1);
}

std::string PipelineTokenizer::token(int32_t id) const {
  for (const AddedToken& token : added_tokens_) {
    if (token.id == id) return token.content;
  }
  return model_->token(id);
}

void PipelineTokenizer::append(std::string_view text, Tokens& tokens) const {
  try {
    pipeline_.append(text, tokens);
  } catch (const Error& error) {  // of a normalizer that makes too much of the text
    throw files_.empty() ? error : error.at(files_.front().name);
  }
}

}  // namespace berth
