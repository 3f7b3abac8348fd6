#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "storage/base/code_points.h"
#include "storage/base/error.h"
#include "storage/base/text.h"
#include "trainer/data/context_tokens.h"
#include "trainer/data/features.h"

namespace berth {
namespace {

constexpr size_t kLongestQuestion = 64, kUsualStride = 128;

// Where the tokens of a context stand in a pair: [CLS] question [SEP] context [SEP], with the
// model's own special tokens.
struct ContextPlace {
  size_t behind = 0;  // special tokens behind the context
  int32_t type_id = 0;
};

// The tokens in each window around a part of the context.
struct Surroundings {
  std::vector<int32_t> ids, type_ids;
  size_t before = 0;  // the number of tokens before the part; the others are behind it
};

// The part of the context that an answer covers, in code points.
struct AnswerSpan {
  uint32_t begin, end;
};

template <typename Values>
auto at(Values& values, size_t place) {
  return values.begin() + static_cast<std::ptrdiff_t>(place);
}

// The windows of `room` tokens over a context. Each begins `step` tokens behind the one before it.
class AnswerWindows final : public RowFeatures {
 public:
  AnswerWindows(Surroundings around, std::shared_ptr<const ContextTokens> context, size_t room,
                size_t step)
      : around_(std::move(around)), context_(std::move(context)), room_(room), step_(step) {}

  // The type of the context's tokens.
  int32_t type_id = 0;
  bool is_first_with_context = true;  // no other windows count the memory of the context
  bool labelled = false;
  std::optional<AnswerSpan> answer{};  // none: the question has no answer
  float weight = 1;

  size_t size() const override {
    const size_t tokens = context_->ids.size();
    return tokens <= room_ ? 1 : 1 + (tokens - room_ + step_ - 1) / step_;
  }
  size_t tokens(size_t i) const override { return around_.ids.size() + end_of(i) - i * step_; }

  const Features& get(size_t i, Features& storage) const override {
    const size_t begin = i * step_, end = end_of(i), before = around_.before;
    storage.input_ids = spliced(around_.ids, context_->ids, begin, end);
    storage.token_type_ids = around_.type_ids;
    storage.token_type_ids.insert(at(storage.token_type_ids, before), end - begin, type_id);
    storage.context.assign(around_.ids.size(), Span());
    storage.context.insert(at(storage.context, before), at(context_->offsets, begin),
                           at(context_->offsets, end));
    storage.classes.clear();
    storage.weight = 1;
    if (labelled) label(storage);
    return storage;
  }

  size_t memory_bytes() const override {
    const size_t of_ids = around_.ids.capacity() + around_.type_ids.capacity();
    return sizeof *this + of_ids * sizeof(int32_t) +
           (is_first_with_context ? context_->memory_bytes() : 0);
  }

 private:
  size_t end_of(size_t i) const { return std::min(i * step_ + room_, context_->ids.size()); }

  std::vector<int32_t> spliced(const std::vector<int32_t>& around,
                               const std::vector<int32_t>& context, size_t begin,
                               size_t end) const {
    std::vector<int32_t> ids;
    ids.reserve(around.size() + end - begin);
    ids.insert(ids.end(), around.begin(), at(around, around_.before));
    ids.insert(ids.end(), at(context, begin), at(context, end));
    ids.insert(ids.end(), at(around, around_.before), around.end());
    return ids;
  }

  // Labels the window with the tokens of the answer, if it holds all of that answer.
  void label(Features& features) const {
    features.weight = weight;
    features.classes = {0, 0};
    if (!answer) return;
    int32_t first = -1, last = -1;
    for (size_t token = 0; token < features.context.size(); ++token) {
      const Span span = features.context[token];
      if (span.begin == span.end) continue;
      if (first < 0 && span.begin <= answer->begin && answer->begin < span.end) {
        first = static_cast<int32_t>(token);
      }
      if (span.begin < answer->end && answer->end <= span.end) last = static_cast<int32_t>(token);
    }
    if (first >= 0 && last >= first) features.classes = {first, last};
  }

  const Surroundings around_;
  const std::shared_ptr<const ContextTokens> context_;
  const size_t room_, step_;
};

EncodeOptions whole_text(bool add_special_tokens) {
  EncodeOptions options(std::numeric_limits<int32_t>::max());
  options.add_special_tokens = add_special_tokens;
  options.with_offsets = true;
  return options;
}

class AnswerFeatures final : public FeatureMaker {
 public:
  AnswerFeatures(FeatureOptions options, const Tokenizer& tokenizer)
      : options_(std::move(options)), tokenizer_(tokenizer) {}

  std::unique_ptr<RowFeatures> plan(const Example& example) const override {
    const std::string& context = example.texts.at(1);
    const auto length = static_cast<size_t>(options_.max_seq_length);
    const ContextPlace place = place_of(context);
    Surroundings around = surroundings(example.texts.at(0), place, length);
    const size_t taken = around.ids.size(), room = length - std::min(length, taken);
    const size_t stride = options_.doc_stride ? static_cast<size_t>(*options_.doc_stride)
                                              : std::min(kUsualStride, room / 2);
    if (stride >= room) {
      throw Error(Code::kUsage,
                  cat("a question takes ", taken, " of the ", length,
                      " tokens of --max-seq-length; the rest is no longer than --doc-stride ",
                      stride, ", so the window over the context cannot move"),
                  "", "raise --max-seq-length (384 is usual) or lower --doc-stride");
    }
    std::shared_ptr<const ContextTokens> tokens = contexts_.find(context);
    const bool is_new = tokens == nullptr;
    if (is_new) tokens = tokens_of(context);
    auto windows =
        std::make_unique<AnswerWindows>(std::move(around), std::move(tokens), room, room - stride);
    windows->type_id = place.type_id;
    windows->is_first_with_context = is_new;
    windows->labelled = options_.labelled;
    windows->weight = example.weight;
    if (!example.answers.empty()) {
      const Answer& answer = example.answers.front();
      windows->answer = {answer.start, answer.start + code_point_count(answer.text)};
    }
    return windows;
  }

  std::vector<Features> make(const Example& example) const override {
    const std::unique_ptr<RowFeatures> windows = plan(example);
    std::vector<Features> made(windows->size());
    for (size_t i = 0; i < made.size(); ++i) windows->get(i, made[i]);
    return made;
  }

  size_t memory_bytes() const override { return contexts_.memory_bytes(); }

 private:
  std::shared_ptr<const ContextTokens> tokens_of(const std::string& context) const {
    Encoding encoding = tokenizer_.encode(context, std::nullopt, whole_text(false));
    auto tokens = std::make_shared<ContextTokens>(
        ContextTokens{std::move(encoding.input_ids), std::move(encoding.offsets)});
    tokens->ids.shrink_to_fit();
    tokens->offsets.shrink_to_fit();
    contexts_.keep(context, tokens);
    return tokens;
  }

  // The place is the same for all contexts that have a token.
  ContextPlace place_of(const std::string& context) const {
    const std::lock_guard lock(mutex_);
    if (!place_) place_ = find_place("a");
    if (!place_) place_ = find_place(context);
    return place_.value_or(ContextPlace());
  }

  // The special tokens behind the context have empty offsets.
  std::optional<ContextPlace> find_place(const std::string& context) const {
    const Encoding empty = tokenizer_.encode("", "", whole_text(true));
    const Encoding pair = tokenizer_.encode("", context, whole_text(true));
    const size_t size = pair.input_ids.size(), tokens = size - empty.input_ids.size();
    if (tokens == 0) return std::nullopt;
    size_t end = size;
    while (end > tokens && pair.offsets[end - 1] == Span()) --end;
    return ContextPlace{.behind = size - end, .type_id = pair.token_type_ids[end - tokens]};
  }

  // Keeps only the first tokens of the question: as many as BERT's run_squad.py keeps, and at most
  // half of the length that special tokens leave.
  Surroundings surroundings(const std::string& question, const ContextPlace& place,
                            size_t length) const {
    Encoding alone = tokenizer_.encode(question, "", whole_text(true));
    const auto is_text = [&](size_t token) { return alone.offsets[token] != Span(); };
    const size_t tokens = alone.input_ids.size();
    size_t before = tokens - place.behind, begin = 0, end = before;
    while (begin < end && !is_text(begin)) ++begin;
    while (end > begin && !is_text(end - 1)) --end;
    const size_t special = tokens - (end - begin);
    const size_t most = std::min(kLongestQuestion, (length - std::min(length, special)) / 2);
    if (end - begin > most) {
      for (std::vector<int32_t>* values : {&alone.input_ids, &alone.token_type_ids}) {
        values->erase(at(*values, begin + most), at(*values, end));
      }
      before -= end - begin - most;
    }
    return {std::move(alone.input_ids), std::move(alone.token_type_ids), before};
  }

  const FeatureOptions options_;
  const Tokenizer& tokenizer_;
  mutable RecentContexts contexts_;
  mutable std::mutex mutex_;
  mutable std::optional<ContextPlace> place_;
};

}  // namespace

std::unique_ptr<FeatureMaker> make_answer_features(FeatureOptions options,
                                                   const Tokenizer& tokenizer) {
  return std::make_unique<AnswerFeatures>(std::move(options), tokenizer);
}

}  // namespace berth
