#pragma once

namespace berth {

// What a cross-encoder learns from its logits, one for each pair of a query and a passage. Where a
// class is named, it is one of sentence-transformers and says what is computed.
enum class RerankingLoss {
  // For each pair alone:
  kBinaryCrossEntropy,  // BinaryCrossEntropyLoss
  kSquaredError,        // MSELoss
  // For the passages of a row, of which the first one is right:
  kSoftmax,  // the cross-entropy of a softmax over them, as FlagEmbedding trains rerankers
  kLambda,   // LambdaLoss with NDCGLoss2PPScheme (Wang et al. 2018, doi:10.1145/3269206.3271784)
  // For the same, with the scores that a teacher gives to the passages:
  kMarginMse,  // MarginMSELoss (Hofstaetter et al. 2020, arXiv:2010.02666)
};

// The score of a pair: its logit itself, or the sigmoid of it.
enum class ScoreForm { kLogit, kProbability };

// The name of the function by which sentence-transformers makes it of a logit.
constexpr const char* function_name(ScoreForm form) {
  return form == ScoreForm::kLogit ? "torch.nn.modules.linear.Identity"
                                   : "torch.nn.modules.activation.Sigmoid";
}

// A loss with its settings.
struct RerankingObjective {
  RerankingLoss loss = RerankingLoss::kBinaryCrossEntropy;
  double positive_weight = 1;  // of the label 1 in the binary cross-entropy
  ScoreForm form = ScoreForm::kProbability;
};

// Whether the loss compares the passages of a row.
constexpr bool compares_passages(RerankingLoss loss) { return loss >= RerankingLoss::kSoftmax; }
// Whether the loss learns a teacher's scores of these passages.
constexpr bool learns_scores(RerankingLoss loss) { return loss == RerankingLoss::kMarginMse; }

}  // namespace berth
