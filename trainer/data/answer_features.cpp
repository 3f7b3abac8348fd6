#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "storage/base/code_points.h"
#include "storage/base/error.h"
#include "storage/base/text.h"
#include "trainer/data/features.h"

namespace berth {
namespace {

constexpr size_t kLongestQuestion = 64, kUsualStride = 128;

// The tokens of a context, as they are in every pair of a question with it.
struct Context {
  std::string text;
  std::vector<int32_t> ids;
  std::vector<Span> offsets;
  int32_t type_id = 0;
  size_t behind = 0;  // special tokens behind the context
};

// Keeps the contexts of late, because a file asks many questions about each. Thread-safe.
class RecentContexts {
 public:
  // Null if it is not one of them.
  std::shared_ptr<const Context> find(const std::string& text) const {
    const std::lock_guard lock(mutex_);
    const auto& context = contexts_[place_of(text)];
    return context != nullptr && context->text == text ? context : nullptr;
  }
  void keep(std::shared_ptr<const Context> context) {
    if (context->text.size() > kLongest) return;
    const std::lock_guard lock(mutex_);
    auto& place = contexts_[place_of(context->text)];
    place = std::move(context);
  }

 private:
  static constexpr size_t kPlaces = 16, kLongest = size_t{4} << 20;

  static size_t place_of(const std::string& text) {
    return std::hash<std::string>()(text) % kPlaces;
  }

  mutable std::mutex mutex_;
  std::array<std::shared_ptr<const Context>, kPlaces> contexts_;
};

// A question with its whole context: [CLS] question [SEP] context [SEP], with the model's own
// special tokens.
struct WholePair {
  Encoding encoding;
  size_t context_begin = 0, context_end = 0;  // tokens
};

class AnswerFeatures final : public FeatureMaker {
 public:
  AnswerFeatures(FeatureOptions options, const Tokenizer& tokenizer)
      : options_(std::move(options)), tokenizer_(tokenizer) {}

  std::vector<Features> make(const Example& example) const override {
    const auto length = static_cast<size_t>(options_.max_seq_length);
    const WholePair pair = encode(example.texts.at(0), example.texts.at(1), length);
    const size_t around = pair.context_begin + (pair.encoding.input_ids.size() - pair.context_end);
    const size_t room = length - std::min(length, around);
    const size_t stride = options_.doc_stride ? static_cast<size_t>(*options_.doc_stride)
                                              : std::min(kUsualStride, room / 2);
    if (stride >= room) {
      throw Error(Code::kUsage,
                  cat("a question takes ", around, " of the ", length,
                      " tokens of --max-seq-length; the rest is no longer than --doc-stride ",
                      stride, ", so the window over the context cannot move"),
                  "", "raise --max-seq-length (384 is usual) or lower --doc-stride");
    }
    std::vector<Features> windows;
    for (size_t begin = pair.context_begin;; begin += room - stride) {
      const size_t end = std::min(begin + room, pair.context_end);
      windows.push_back(window(pair, begin, end));
      if (options_.labelled) label(example, windows.back());
      if (end == pair.context_end) return windows;
    }
  }

 private:
  WholePair encode(const std::string& question, const std::string& context, size_t length) const {
    EncodeOptions whole(std::numeric_limits<int32_t>::max());
    whole.with_offsets = true;
    Encoding alone = tokenizer_.encode(question, "", whole);
    WholePair pair;
    if (const auto known = contexts_.find(context)) {
      pair = joined(std::move(alone), *known);
    } else {
      pair.encoding = tokenizer_.encode(question, context, whole);
      find_context(pair, pair.encoding.input_ids.size() - alone.input_ids.size());
      keep_context(pair, context);
    }
    cut_question(pair, length);
    return pair;
  }

  // The special tokens behind the context have empty offsets.
  static void find_context(WholePair& pair, size_t context_tokens) {
    const std::vector<Span>& offsets = pair.encoding.offsets;
    size_t end = offsets.size();
    while (end > context_tokens && offsets[end - 1] == Span()) --end;
    pair.context_end = end;
    pair.context_begin = end - context_tokens;
  }

  void keep_context(const WholePair& pair, const std::string& text) const {
    if (pair.context_begin == pair.context_end) return;
    const Encoding& all = pair.encoding;
    const auto part = [&](const auto& values) {
      return std::vector(values.begin() + static_cast<std::ptrdiff_t>(pair.context_begin),
                         values.begin() + static_cast<std::ptrdiff_t>(pair.context_end));
    };
    contexts_.keep(
        std::make_shared<Context>(Context{.text = text,
                                          .ids = part(all.input_ids),
                                          .offsets = part(all.offsets),
                                          .type_id = all.token_type_ids[pair.context_begin],
                                          .behind = all.input_ids.size() - pair.context_end}));
  }

  // `alone` is the question with an empty context, whose place the tokens of `context` take.
  static WholePair joined(Encoding alone, const Context& context) {
    WholePair pair;
    pair.context_begin = alone.input_ids.size() - context.behind;
    pair.context_end = pair.context_begin + context.ids.size();
    const auto at = static_cast<std::ptrdiff_t>(pair.context_begin);
    alone.input_ids.insert(alone.input_ids.begin() + at, context.ids.begin(), context.ids.end());
    alone.offsets.insert(alone.offsets.begin() + at, context.offsets.begin(),
                         context.offsets.end());
    alone.token_type_ids.insert(alone.token_type_ids.begin() + at, context.ids.size(),
                                context.type_id);
    pair.encoding = std::move(alone);
    return pair;
  }

  // Keeps only the first tokens of the question: as many as BERT's run_squad.py keeps, and at most
  // half of the length that special tokens leave.
  static void cut_question(WholePair& pair, size_t length) {
    Encoding& all = pair.encoding;
    const auto is_text = [&](size_t token) { return all.offsets[token] != Span(); };
    size_t begin = 0, end = pair.context_begin;
    while (begin < end && !is_text(begin)) ++begin;
    while (end > begin && !is_text(end - 1)) --end;
    const size_t tokens = all.input_ids.size();
    const size_t special = tokens - (pair.context_end - pair.context_begin) - (end - begin);
    const size_t most = std::min(kLongestQuestion, (length - std::min(length, special)) / 2);
    if (end - begin <= most) return;
    const auto cut = [&](auto& values) {
      const auto first = values.begin();
      values.erase(first + static_cast<std::ptrdiff_t>(begin + most),
                   first + static_cast<std::ptrdiff_t>(end));
    };
    cut(all.input_ids);
    cut(all.token_type_ids);
    cut(all.offsets);
    pair.context_begin -= end - begin - most;
    pair.context_end -= end - begin - most;
  }

  static Features window(const WholePair& pair, size_t begin, size_t end) {
    Features features;
    const auto take = [&](size_t from, size_t to, bool is_context) {
      for (size_t token = from; token < to; ++token) {
        features.input_ids.push_back(pair.encoding.input_ids[token]);
        features.token_type_ids.push_back(pair.encoding.token_type_ids[token]);
        features.context.push_back(is_context ? pair.encoding.offsets[token] : Span());
      }
    };
    take(0, pair.context_begin, false);
    take(begin, end, true);
    take(pair.context_end, pair.encoding.input_ids.size(), false);
    return features;
  }

  // Labels the window with the tokens of the first answer, if it holds all of that answer.
  static void label(const Example& example, Features& features) {
    features.weight = example.weight;
    features.classes = {0, 0};
    if (example.answers.empty()) return;
    const Answer& answer = example.answers.front();
    const uint32_t begin = answer.start, end = begin + code_point_count(answer.text);
    int32_t first = -1, last = -1;
    for (size_t token = 0; token < features.context.size(); ++token) {
      const Span span = features.context[token];
      if (span.begin == span.end) continue;
      if (first < 0 && span.begin <= begin && begin < span.end) first = static_cast<int32_t>(token);
      if (span.begin < end && end <= span.end) last = static_cast<int32_t>(token);
    }
    if (first >= 0 && last >= first) features.classes = {first, last};
  }

  const FeatureOptions options_;
  const Tokenizer& tokenizer_;
  mutable RecentContexts contexts_;
};

}  // namespace

std::unique_ptr<FeatureMaker> make_answer_features(FeatureOptions options,
                                                   const Tokenizer& tokenizer) {
  return std::make_unique<AnswerFeatures>(std::move(options), tokenizer);
}

}  // namespace berth
