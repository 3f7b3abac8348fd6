#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>

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

class DocumentFeatures final : public FeatureMaker {
 public:
  DocumentFeatures(FeatureOptions options, const Tokenizer& tokenizer)
      : options_(std::move(options)), tokenizer_(tokenizer) {}

  std::vector<Features> make(const Example& example) const override {
    if (!example.token_ids.empty()) return {token_features(example, options_.max_seq_length)};
    const SpecialTokens special = special_tokens(tokenizer_);
    const size_t room = room_of(special);
    EncodeOptions bare(std::numeric_limits<int32_t>::max());
    bare.add_special_tokens = false;
    const std::vector<int32_t> ids =
        tokenizer_.encode(example.texts.at(0), std::nullopt, bare).input_ids;
    std::vector<Features> sequences;
    for (size_t begin = 0; begin == 0 || begin < ids.size(); begin += room) {
      const size_t end = std::min(begin + room, ids.size());
      Features& made = sequences.emplace_back();
      made.input_ids = special.before;
      made.input_ids.insert(made.input_ids.end(), ids.begin() + static_cast<std::ptrdiff_t>(begin),
                            ids.begin() + static_cast<std::ptrdiff_t>(end));
      made.input_ids.insert(made.input_ids.end(), special.behind.begin(), special.behind.end());
      made.token_type_ids.resize(made.input_ids.size());
      made.weight = example.weight;
    }
    return sequences;
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
};

}  // namespace

std::unique_ptr<FeatureMaker> make_document_features(FeatureOptions options,
                                                     const Tokenizer& tokenizer) {
  return std::make_unique<DocumentFeatures>(std::move(options), tokenizer);
}

}  // namespace berth
