#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "trainer/text/template_tokenizer.h"
#include "trainer/text/wordpiece.h"

namespace berth {

// What cuts one word into tokens. Immutable, thread-safe.
class WordModel {
 public:
  virtual ~WordModel() = default;

  virtual int32_t vocab_size() const = 0;
  virtual std::string token(int32_t id) const = 0;         // "" for an id without one
  virtual int32_t find(std::string_view token) const = 0;  // -1: none

  // Appends the tokens of `word`, valid UTF-8 and not empty, with spans that count from `offset`
  // bytes before it.
  virtual void append(std::string_view word, size_t offset, Tokens& tokens) const = 0;
};

// WordPiece as a model of the pipeline: borrowed, so that it outlives this, or owned.
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
