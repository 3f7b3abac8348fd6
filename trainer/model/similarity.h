#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace berth {

// What embeddings of texts that belong together learn. Each is a loss of sentence-transformers
// (Reimers and Gurevych 2019, arXiv:1908.10084), and its own class there says what it computes.
enum class SimilarityLoss {
  // For two texts and a number:
  kCosine,             // CosineSimilarityLoss
  kCosent,             // CoSENTLoss (Su 2022)
  kAngle,              // AnglELoss (Li and Li 2023, arXiv:2309.12871)
  kContrastive,        // ContrastiveLoss (Hadsell et al. 2006); the number is 0 or 1
  kOnlineContrastive,  // OnlineContrastiveLoss; the number is 0 or 1
  // For texts without a number:
  kInBatchNegatives,  // MultipleNegativesRankingLoss (Henderson et al. 2017, arXiv:1705.00652)
  kSymmetric,         // the same in both directions (Guenther et al. 2023, arXiv:2310.19923)
  kTriplet,           // TripletLoss (Hermans et al. 2017, arXiv:1703.07737)
  // For texts without a number, with the scores that a teacher gives to all texts but the first:
  kMarginMse,  // MarginMSELoss (Hofstaetter et al. 2020, arXiv:2010.02666)
  kDistillKl,  // DistillKLDivLoss
  // For texts with a teacher's embeddings. A number of the row counts for nothing:
  kEmbeddingMse,     // MSELoss (Reimers and Gurevych 2020, arXiv:2004.09813)
  kEmbeddingCosine,  // EmbedDistillLoss (Kim et al. 2023, arXiv:2301.12005), by the cosine
};

// How far apart two embeddings are.
enum class EmbeddingDistance { kCosine, kEuclidean, kManhattan };

// The loss is also computed for the first `size` numbers of each embedding, scaled to length 1.
struct NestedSize {
  int64_t size = 0;
  double weight = 1;
  bool operator==(const NestedSize&) const = default;
};

// Which texts of other rows are likely to belong to a text as well (GISTEmbed, Solatorio 2024,
// arXiv:2402.16829). Their similarity to it exceeds the similarity of its own second text, less a
// margin. They are no negatives. The guide gives the similarities: the model that learns, or
// another one, whose vectors a batch holds.
struct FalseNegativeRule {
  bool is_on = false;
  double margin = 0, relative_margin = 0;  // the second is a share of the similarity

  double threshold(double own) const {
    return own - margin - relative_margin * (own < 0 ? -own : own);
  }
  bool operator==(const FalseNegativeRule&) const = default;
};

// A loss with its settings.
struct SimilarityObjective {
  std::optional<SimilarityLoss> loss{};  // empty: the loss of the task (TaskTraits)
  double scale = 20;                     // of cosines, before a softmax or a sum of exponentials
  double margin = 5;                     // by which unlike texts should be farther apart
  EmbeddingDistance distance = EmbeddingDistance::kEuclidean;
  double teacher_scale = 1;  // of a teacher's scores, before a softmax
  FalseNegativeRule rule{};
  // Whether the first texts of other rows are negatives of a first text, too. Whether second texts
  // are negatives of each other.
  bool contrasts_anchors = false, contrasts_positives = false;
  int64_t vector_size = 0;  // of the vectors of another model that batches hold; 0: there are none
  // Matryoshka representation learning (Kusupati et al. 2022, arXiv:2205.13147): the loss is the
  // weighted sum over these sizes. Empty: the loss of the whole embeddings.
  std::vector<NestedSize> nested{};
  int64_t compared_size = 0;  // outputs are cosines of these first numbers; 0: of all
};

// The sizes of an objective that are shorter than embeddings of this size, the largest first; none
// where outputs are of one size.
inline std::vector<int64_t> shorter_sizes(const SimilarityObjective& objective, int64_t size) {
  std::vector<int64_t> sizes;
  if (objective.compared_size > 0) return sizes;
  for (const NestedSize& nested : objective.nested) {
    if (nested.size < size) sizes.push_back(nested.size);
  }
  return sizes;
}

// Whether the loss learns from a number for each pair of texts.
constexpr bool learns_numbers(SimilarityLoss loss) {
  return loss < SimilarityLoss::kInBatchNegatives;
}
// Whether the loss learns a teacher's scores, and whether it learns a teacher's embeddings.
constexpr bool learns_scores(SimilarityLoss loss) {
  return loss == SimilarityLoss::kMarginMse || loss == SimilarityLoss::kDistillKl;
}
constexpr bool learns_embeddings(SimilarityLoss loss) {
  return loss == SimilarityLoss::kEmbeddingMse || loss == SimilarityLoss::kEmbeddingCosine;
}
// Whether the number must be 0 or 1.
constexpr bool learns_marks(SimilarityLoss loss) {
  return loss == SimilarityLoss::kContrastive || loss == SimilarityLoss::kOnlineContrastive;
}
// Which settings change the loss.
constexpr bool has_scale(SimilarityLoss loss) {
  return loss == SimilarityLoss::kCosent || loss == SimilarityLoss::kAngle ||
         loss == SimilarityLoss::kInBatchNegatives || loss == SimilarityLoss::kSymmetric ||
         loss == SimilarityLoss::kDistillKl;
}
constexpr bool has_margin(SimilarityLoss loss) {
  return learns_marks(loss) || loss == SimilarityLoss::kTriplet;
}
constexpr bool has_false_negatives(SimilarityLoss loss) {
  return loss == SimilarityLoss::kInBatchNegatives;
}
// Whether rows of a batch are compared, so that no row has a loss, and no weight, of its own.
constexpr bool compares_rows(SimilarityLoss loss) {
  return loss != SimilarityLoss::kCosine && loss != SimilarityLoss::kContrastive &&
         loss != SimilarityLoss::kTriplet && !learns_scores(loss) && !learns_embeddings(loss);
}

}  // namespace berth
