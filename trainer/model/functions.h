#pragma once

namespace berth {

// The activation functions that hidden_act in config.json may name. GELU (Hendrycks and Gimpel
// 2016, arXiv:1606.08415) is computed with erf (kGelu) or by its tanh approximation (kGeluTanh).
// kSilu is x sigmoid(x), which is called swish, too (Ramachandran et al. 2017, arXiv:1710.05941).
enum class Activation { kGelu, kGeluTanh, kRelu, kTanh, kSilu };

// How the last hidden states of a text's tokens, special tokens included, become one vector: the
// text's embedding. As in sentence-transformers (Reimers and Gurevych 2019, arXiv:1908.10084).
enum class Pooling {
  kMean,  // their mean
  kCls,   // the first token's state
  kMax,   // the largest value of each dimension
};

}  // namespace berth
