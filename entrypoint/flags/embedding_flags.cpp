#include "entrypoint/flags/flag_table.h"

namespace berth {
namespace {

auto embedding(auto member) { return place(&CommandLine::settings, &Settings::embedding, member); }

}  // namespace

std::vector<Flag> embedding_flags() {
  using enum FlagGroup;
  return {
      {"pooling",
       {"pooling-mode"},
       kModel,
       "For --mode embed: how the hidden states of a text's tokens become its embedding. mean is "
       "their mean, cls the first token's state, and max the largest value of each dimension.",
       choice_value<Pooling>(
           embedding(&EmbeddingOptions::pooling),
           {{"mean", Pooling::kMean}, {"cls", Pooling::kCls}, {"max", Pooling::kMax}}),
       "as the model's sentence-transformers files say, else mean"},
      {"normalize-embeddings",
       {},
       kModel,
       "For --mode embed: scale each embedding to length 1.",
       switch_value(embedding(&EmbeddingOptions::normalizes)),
       "as the model's sentence-transformers files say, else false"},
      {"embeddings-format",
       {},
       kModel,
       "For --mode embed: the format of the embeddings. npy is a NumPy array of float32, one row "
       "for each text. parquet and jsonl have the columns id and embedding.",
       choice_value<EmbeddingsFormat>(embedding(&EmbeddingOptions::format),
                                      {{"npy", EmbeddingsFormat::kNpy},
                                       {"parquet", EmbeddingsFormat::kParquet},
                                       {"jsonl", EmbeddingsFormat::kJsonl}})},
  };
}

}  // namespace berth
