#include "entrypoint/flags/flag_table.h"

namespace berth {
namespace {

auto embedding(auto member) { return place(&CommandLine::settings, &Settings::embedding, member); }

}  // namespace

std::vector<Flag> embedding_flags() {
  using enum Effect;
  using enum FlagGroup;
  return {
      {"pooling",
       {"pooling-mode"},
       kModel,
       "For --mode embed and --task similarity: how the hidden states of a text's tokens become "
       "its embedding. mean is "
       "their mean, cls the first token's state, and max the largest value of each dimension.",
       choice_value<Pooling>(
           embedding(&EmbeddingOptions::pooling),
           {{"mean", Pooling::kMean}, {"cls", Pooling::kCls}, {"max", Pooling::kMax}}),
       FlagRole(kDecides, kEverywhere).heeded_by(tasks_that::compare),
       "as the model's sentence-transformers files say, else mean"},
      {"normalize-embeddings",
       {},
       kModel,
       "For --mode embed: scale each embedding to length 1. With --task similarity the finished "
       "model does so; the losses compare directions only.",
       switch_value(embedding(&EmbeddingOptions::normalizes)),
       FlagRole(kDecides, kEverywhere).heeded_by(tasks_that::compare),
       "as the model's sentence-transformers files say, else false"},
      {"similarity-loss",
       {},
       kModel,
       "For --task similarity. cosine: the squared error between the cosine of two embeddings and "
       "the label. in_batch_negatives: each text must find its partner among the partners of all "
       "rows of its micro-batch and the texts of a column negative. With "
       "--gradient-accumulation-steps, the micro-batches are smaller and do not see each other.",
       choice_value<SimilarityLoss>(embedding(&EmbeddingOptions::loss),
                                    {{"cosine", SimilarityLoss::kCosine},
                                     {"in_batch_negatives", SimilarityLoss::kInBatchNegatives}}),
       FlagRole(kDecides, kEverywhere, kAsTrained).heeded_by(tasks_that::compare),
       "cosine where rows have labels, else in_batch_negatives"},
      {"max-similarity",
       {},
       kModel,
       "For --task similarity: the label of texts that mean the same, such as 5 for STS-B. Labels "
       "are divided by it.",
       real_value(data_option(&DataOptions::max_similarity),
                  {0, 1e9, false, true, "a number above 0"}),
       FlagRole(kDecides, kEverywhere, kAsTrained).heeded_by(tasks_that::compare_with_labels)},
      {"embeddings-format",
       {},
       kModel,
       "For --mode embed: the format of the embeddings. npy is a NumPy array of float32, one row "
       "for each text. parquet and jsonl have the columns id and embedding.",
       choice_value<EmbeddingsFormat>(embedding(&EmbeddingOptions::format),
                                      {{"npy", EmbeddingsFormat::kNpy},
                                       {"parquet", EmbeddingsFormat::kParquet},
                                       {"jsonl", EmbeddingsFormat::kJsonl}}),
       {kFree, kInEmbed}},
  };
}

}  // namespace berth
