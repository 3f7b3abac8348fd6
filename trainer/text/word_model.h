#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "trainer/text/template_tokenizer.h"
#include "trainer/text/wordpiece.h"

namespace berth {

// Splits one word into tokens. Immutable and thread-safe.
class WordModel {
 public:
  virtual ~WordModel() = default;

  virtual int32_t vocab_size() const = 0;
  virtual std::string token(int32_t id) const = 0;         // "" if no token has this id
  virtual int32_t find(std::string_view token) const = 0;  // -1 if there is none

  // Appends the tokens of `word`, which must be valid UTF-8 and not empty. `offset` is added to
  // their spans.
  virtual void append(std::string_view word, size_t offset, Tokens& tokens) const = 0;
};

// WordPiece as a model of a Pipeline. The WordPiece is either owned or borrowed; if borrowed, it
// must outlive this object.
class WordPieceModel final : public WordModel {
 public:
  explicit WordPieceModel(const WordPiece& wordpiece) : wordpiece_(wordpiece) {}
  explicit WordPieceModel(std::unique_ptr<const WordPiece> wordpiece)
      : owned_(std::move(wordpiece)), wordpiece_(*owned_) {}

  int32_t vocab_size() const override { return wordpiece_.size(); }
  std::string token(int32_t id) const override;
  int32_t find(std::string_view token) const override { return wordpiece_.find(token); }
  void append(std::string_view word, size_t offset, Tokens& tokens) const override;

 private:
  std::unique_ptr<const WordPiece> owned_;
  const WordPiece& wordpiece_;
};

}  // namespace berth
