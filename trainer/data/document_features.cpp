#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "trainer/data/features.h"
#include "trainer/data/token_features.h"

namespace berth {
namespace {

// The special tokens that a model puts before and behind a text.
struct SpecialTokens {
  std::vector<int32_t> before, behind;
};

// Finds them by encoding a text with and without them. A tokenizer without files throws when it is
// used; its rows hold token ids, so that nobody asks for the special tokens.
SpecialTokens special_tokens(const Tokenizer& tokenizer) {
  EncodeOptions whole(std::numeric_limits<int32_t>::max());
  EncodeOptions bare = whole;
  bare.add_special_tokens = false;
  const std::vector<int32_t> all = tokenizer.encode("a", std::nullopt, whole).input_ids;
  const std::vector<int32_t> text = tokenizer.encode("a", std::nullopt, bare).input_ids;
  const auto found = std::search(all.begin(), all.end(), text.begin(), text.end());
  if (found == all.end()) return {};
  const auto end = found + static_cast<std::ptrdiff_t>(text.size());
  return {.before = {all.begin(), found}, .behind = {end, all.end()}};
}

// The sequences of `room` tokens of a text each. Borrows `special`.
class DocumentSequences final : public RowFeatures {
 public:
  DocumentSequences(const SpecialTokens& special, std::vector<int32_t> ids, size_t room,
                    float weight)
      : special_(special), ids_(std::move(ids)), room_(room), weight_(weight) {}

  size_t size() const override { return std::max<size_t>(1, (ids_.size() + room_ - 1) / room_); }
  size_t tokens(size_t i) const override {
    return special_.before.size() + part(i).size() + special_.behind.size();
  }
  const Features& get(size_t i, Features& storage) const override {
    const std::span<const int32_t> text = part(i);
    storage.input_ids = special_.before;
    storage.input_ids.insert(storage.input_ids.end(), text.begin(), text.end());
    storage.input_ids.insert(storage.input_ids.end(), special_.behind.begin(),
                             special_.behind.end());
    storage.token_type_ids.assign(storage.input_ids.size(), 0);
    storage.weight = weight_;
    return storage;
  }
  size_t memory_bytes() const override {
    return sizeof *this + ids_.capacity() * sizeof(int32_t) + 2 * kHeapBytes;
  }

 private:
  static constexpr size_t kHeapBytes = 16;  // of each allocation: its header, and rounding

  std::span<const int32_t> part(size_t i) const {
    const size_t begin = std::min(i * room_, ids_.size());
    return std::span(ids_).subspan(begin, std::min(room_, ids_.size() - begin));
  }

  const SpecialTokens& special_;
  const std::vector<int32_t> ids_;
  const size_t room_;
  const float weight_;
};

class DocumentFeatures final : public FeatureMaker {
 public:
  DocumentFeatures(FeatureOptions options, const Tokenizer& tokenizer)
      : options_(std::move(options)), tokenizer_(tokenizer) {}

  // What it returns borrows from this.
  std::unique_ptr<RowFeatures> plan(const Example& example) const override {
    if (!example.token_ids.empty()) return FeatureMaker::plan(example);
    std::call_once(once_, [&] { special_ = special_tokens(tokenizer_); });
    const size_t room = room_of(special_);
    EncodeOptions bare(std::numeric_limits<int32_t>::max());
    bare.add_special_tokens = false;
    std::vector<int32_t> ids = tokenizer_.encode(example.texts.at(0), std::nullopt, bare).input_ids;
    ids.shrink_to_fit();
    return std::make_unique<DocumentSequences>(special_, std::move(ids), room, example.weight);
  }

  std::vector<Features> make(const Example& example) const override {
    if (!example.token_ids.empty()) {
      Features features = token_features(example, options_.max_seq_length);
      features.ends = example.labels;  // of a block: join_documents()
      features.weight = example.weight;
      return {std::move(features)};
    }
    const std::unique_ptr<RowFeatures> sequences = plan(example);
    std::vector<Features> made(sequences->size());
    for (size_t i = 0; i < made.size(); ++i) sequences->get(i, made[i]);
    return made;
  }

 private:
  // The tokens of the text that fit into one sequence.
  size_t room_of(const SpecialTokens& special) const {
    const size_t around = special.before.size() + special.behind.size();
    const auto length = static_cast<size_t>(options_.max_seq_length);
    if (length > around) return length - around;
    throw Error(Code::kUsage,
                cat("the special tokens of a sequence take all of its ", length, " tokens"),
                "--max-seq-length", "raise it");
  }

  const FeatureOptions options_;
  const Tokenizer& tokenizer_;
  mutable std::once_flag once_;
  mutable SpecialTokens special_;
};

}  // namespace

std::unique_ptr<FeatureMaker> make_document_features(FeatureOptions options,
                                                     const Tokenizer& tokenizer) {
  return std::make_unique<DocumentFeatures>(std::move(options), tokenizer);
}

}  // namespace berth
