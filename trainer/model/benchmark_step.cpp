#include "trainer/model/benchmark_step.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {

ModelConfig bert_of_size(std::string_view name) {
  struct Size {
    const char* name;
    int64_t layers, hidden, heads;
  };
  for (const Size& size : {Size{"tiny", 2, 128, 2}, Size{"mini-lm", 6, 384, 12},
                           Size{"base", 12, 768, 12}, Size{"large", 24, 1024, 16}}) {
    if (name != size.name) continue;
    return {.vocab_size = 30522,
            .hidden_size = size.hidden,
            .num_hidden_layers = size.layers,
            .num_attention_heads = size.heads,
            .intermediate_size = 4 * size.hidden,
            .max_position_embeddings = 512,
            .labels = {"no", "yes"}};
  }
  throw Error(Code::kUsage, cat("no such model: ", name));
}

namespace {

// The lengths of AG News' texts in WordPieces of BERT's uncased vocabulary: one from each 64th of
// 10,000 texts, sorted by length.
constexpr std::array<int32_t, 64> kNewsLengths = {
    22, 24, 26, 28, 29, 30, 31, 32, 33, 34, 34, 35, 36, 36, 37, 38, 38, 39, 39, 40, 40, 41,
    41, 42, 42, 43, 43, 44, 44, 44, 45, 45, 46, 46, 47, 47, 48, 48, 48, 49, 49, 50, 50, 51,
    51, 52, 52, 53, 53, 54, 55, 55, 56, 57, 58, 59, 60, 62, 65, 68, 73, 80, 91, 111};

// Lengths of mixed documents that are cut to 512 tokens: quantiles of the log-normal distribution
// whose median is 150 and whose sigma is 1.
constexpr std::array<int32_t, 32> kDocumentLengths = {
    17,  28,  36,  44,  51,  58,  65,  73,  80,  88,  96,  105, 114, 123, 133, 144,
    156, 169, 183, 198, 215, 234, 256, 281, 310, 344, 387, 441, 512, 512, 512, 512};

// Which of 64 lengths is drawn for sequence `b` of batch `number`. bench/peer/step_torch.py draws
// the same.
size_t drawn(uint64_t number, int64_t b) {
  uint64_t x = number * 1'000'003 + static_cast<uint64_t>(b) + 1;
  for (int round = 0; round < 2; ++round) x = x * 6364136223846793005u + 1442695040888963407u;
  return static_cast<size_t>(x >> 58);
}

// The length of sequence `b`. The factors spread short and long texts over small batches.
int32_t length_of(const RandomBatch& batch, int64_t b) {
  const std::string& length = batch.length;
  if (length == "news") return kNewsLengths[static_cast<size_t>(b * 37 % 64)];
  if (length == "drawn") return kNewsLengths[drawn(batch.number, b)];
  if (length == "documents") return kDocumentLengths[static_cast<size_t>(b * 13 % 32)];
  const std::optional<uint64_t> tokens = parse_number(length);
  if (!tokens || *tokens == 0 || *tokens > 1'000'000) {
    throw Error(Code::kUsage, cat("no such length of texts: ", length));
  }
  return static_cast<int32_t>(*tokens);
}

}  // namespace

PackedBatch make_random_batch(const RandomBatch& batch, const ModelConfig& config) {
  PackedBatch packed;
  std::vector<int32_t> classes;
  PackedBatch::MaskedTokens masked;
  const bool has_pairs = traits(config.task).rows == HeadRows::kMaskedAndFirst;
  uint64_t random = 1;
  for (int64_t b = 0; b < batch.sequences; ++b) {
    const int32_t length = length_of(batch, b);
    for (int32_t i = 0; i < length; ++i) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      packed.input_ids.push_back(
          static_cast<int32_t>((random >> 33) % static_cast<uint64_t>(config.vocab_size)));
      packed.token_type_ids.push_back(0);
      packed.position_ids.push_back(i);
      if (packed.input_ids.size() % 20 % 7 != 1) continue;  // 3 of 20 tokens
      if (i == 0 && has_pairs) continue;
      masked.tokens.push_back(static_cast<int32_t>(packed.input_ids.size()) - 1);
      masked.ids.push_back(packed.input_ids.back());
    }
    packed.cu_seqlens.push_back(packed.cu_seqlens.back() + length);
    classes.push_back(static_cast<int32_t>(b % 2));
  }
  packed.labels = PackedBatch::Classes(classes);
  if (has_pairs) masked.next_sentences = classes;
  if (traits(config.task).labels == LabelKind::kMaskedId) packed.labels = masked;
  return packed;
}

}  // namespace berth
