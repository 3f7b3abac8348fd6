#pragma once

namespace berth {

// How the last hidden states of a text's tokens, special tokens included, become one vector: the
// text's embedding. As in sentence-transformers (Reimers and Gurevych 2019, arXiv:1908.10084).
enum class Pooling {
  kMean,  // their mean
  kCls,   // the first token's state
  kMax,   // the largest value of each dimension
};

}  // namespace berth
