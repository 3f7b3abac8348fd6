#include "entrypoint/flags/similarity_rules.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "entrypoint/flags/flag_value.h"
#include "entrypoint/flags/train_sources.h"
#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/text.h"

namespace berth {
namespace {

constexpr const char* kSizesFlag = "--matryoshka-dims";
constexpr const char* kSizeWeightsFlag = "--matryoshka-weights";

// The numbers of a list such as "768,512,256".
template <typename Parse>
auto list_of(const std::string& text, const char* flag, const Parse& parse) {
  std::vector<decltype(parse(std::string_view()))> numbers;
  for (const std::string& part : parted(text, ", ")) {
    try {
      numbers.push_back(parse(part));
    } catch (const Error& error) {
      throw error.at(flag);
    }
  }
  return numbers;
}

void refuse_useless(std::string_view flag, std::string_view losses) {
  throw Error(Code::kUsage, "the flag changes nothing in this loss", std::string(flag),
              cat("leave it out, or give --similarity-loss ", losses));
}

// `loss` is empty where only the rows tell it.
void refuse_useless_flags(const EmbeddingOptions& options, std::optional<SimilarityLoss> loss) {
  const bool may_scale = !loss || has_scale(*loss), may_measure = loss && has_margin(*loss);
  if (options.scale && !may_scale) {
    refuse_useless("--similarity-scale",
                   "in_batch_negatives, symmetric, cosent, angle or distill_kl");
  }
  if (options.teacher_scale && loss && *loss != SimilarityLoss::kDistillKl) {
    refuse_useless("--teacher-scale", "distill_kl");
  }
  constexpr std::string_view kMeasuring = "triplet, contrastive or online_contrastive";
  if (options.has_guide() && loss && !has_false_negatives(*loss)) {
    refuse_useless("--guide", "in_batch_negatives");
  }
  if (!options.has_guide() && (options.guide_margin || options.guide_relative_margin)) {
    throw Error(Code::kUsage, "there is no guide",
                options.guide_margin ? "--guide-margin" : "--guide-relative-margin",
                "leave it out, or give --guide");
  }
  if (options.guide_margin && options.guide_relative_margin) {
    throw Error(Code::kUsage, "there is one margin already", "--guide-relative-margin",
                "leave it or --guide-margin out");
  }
  if (options.margin && !may_measure) refuse_useless("--similarity-margin", kMeasuring);
  if (options.distance && !may_measure) refuse_useless("--similarity-distance", kMeasuring);
}

// Rows of these losses are compared with each other, so none has a loss of its own to weigh.
void refuse_weights(const Settings& settings, std::optional<SimilarityLoss> loss) {
  if (settings.data.weight_column.empty() || !loss || !compares_rows(*loss)) return;
  throw Error(Code::kUsage, "the loss compares the rows of a batch, so no row has a weight",
              "--weight-column", "leave it out, or give --similarity-loss cosine or contrastive");
}

// Throws kUsage where --teacher and the loss do not fit together.
void check_teacher(const Settings& settings) {
  const std::optional<SimilarityLoss>& loss = settings.embedding.loss;
  const bool has_teacher = !settings.distillation.teacher.empty();
  if (!loss) {
    const bool may_nest = !has_teacher || find_task(settings.data.task) != Task::kSimilarity;
    if (may_nest || settings.embedding.matryoshka_dims.empty()) return;
  }
  if (loss && has_teacher && !learns_scores(*loss) && !learns_embeddings(*loss)) {
    refuse_useless("--teacher", "embedding_mse, embedding_cosine, margin_mse or distill_kl");
  }
  if (loss && !has_teacher && learns_embeddings(*loss)) {
    throw Error(Code::kUsage, "the loss learns a teacher's embeddings, and there is no teacher",
                "--similarity-loss", "name one with --teacher");
  }
  if (settings.embedding.matryoshka_dims.empty() || (loss && !learns_embeddings(*loss))) return;
  throw Error(Code::kUsage, "a teacher's embeddings have no short form to learn", kSizesFlag,
              "leave it out, or give --similarity-loss margin_mse or distill_kl");
}

}  // namespace

std::span<const std::pair<const char*, SimilarityLoss>> similarity_losses() {
  static constexpr std::pair<const char*, SimilarityLoss> kLosses[] = {
      {"cosine", SimilarityLoss::kCosine},
      {"in_batch_negatives", SimilarityLoss::kInBatchNegatives},
      {"symmetric", SimilarityLoss::kSymmetric},
      {"cosent", SimilarityLoss::kCosent},
      {"angle", SimilarityLoss::kAngle},
      {"triplet", SimilarityLoss::kTriplet},
      {"margin_mse", SimilarityLoss::kMarginMse},
      {"distill_kl", SimilarityLoss::kDistillKl},
      {"embedding_mse", SimilarityLoss::kEmbeddingMse},
      {"embedding_cosine", SimilarityLoss::kEmbeddingCosine},
      {"contrastive", SimilarityLoss::kContrastive},
      {"online_contrastive", SimilarityLoss::kOnlineContrastive}};
  return kLosses;
}

std::string_view name_of(SimilarityLoss loss) {
  return std::ranges::find(similarity_losses(), loss, [](const auto& row) { return row.second; })
      ->first;
}

std::vector<NestedSize> nested_sizes(const EmbeddingOptions& options) {
  constexpr IntegerRange kSize{1, int64_t{1} << 20};
  constexpr RealRange kWeight{0, 1e6, false, true, "a number above 0"};
  const auto sizes = list_of(options.matryoshka_dims, kSizesFlag,
                             [&](std::string_view part) { return parse_integer(part, kSize); });
  const auto weights = list_of(options.matryoshka_weights, kSizeWeightsFlag,
                               [&](std::string_view part) { return parse_real(part, kWeight); });
  if (!weights.empty() && weights.size() != sizes.size()) {
    throw Error(Code::kUsage,
                cat(counted(weights.size(), "weight"), " for ", counted(sizes.size(), "size")),
                kSizeWeightsFlag, cat("give one for each of ", kSizesFlag, ", in its order"));
  }
  std::vector<NestedSize> nested;
  for (size_t i = 0; i < sizes.size(); ++i) {
    nested.push_back({.size = sizes[i], .weight = weights.empty() ? 1.0 : weights[i]});
  }
  std::ranges::stable_sort(nested, std::ranges::greater(), &NestedSize::size);
  const auto twice = std::ranges::adjacent_find(nested, {}, &NestedSize::size);
  if (twice != nested.end()) {
    throw Error(Code::kUsage, cat(twice->size, " stands there twice"), kSizesFlag);
  }
  return nested;
}

namespace {

SimilarityLoss usual_loss(const Settings& settings, Task task) {
  const bool has_teacher = traits(settings.mode).trains() && !settings.distillation.teacher.empty();
  if (has_teacher) return SimilarityLoss::kEmbeddingMse;
  return traits(task).has_label_column ? SimilarityLoss::kCosine
                                       : SimilarityLoss::kInBatchNegatives;
}

// The options by which a finished model is scored. The loss is the usual one of the rows where the
// loss of the training needs what is not there. It is, too, where that takes texts alone and the
// rows have labels.
EmbeddingOptions options_of_loss(const Settings& settings, bool has_labels, bool has_scores) {
  EmbeddingOptions options = settings.embedding;
  const bool is_finished = traits(settings.mode).runs_finished_model();
  const bool lacks_teacher = options.loss && (learns_embeddings(*options.loss) ||
                                              (learns_scores(*options.loss) && !has_scores));
  const bool takes_texts = options.loss && has_labels && !learns_numbers(*options.loss);
  if (!is_finished || !(lacks_teacher || takes_texts)) return options;
  options.loss.reset();
  options.scale.reset();
  options.teacher_scale.reset();
  options.margin.reset();
  options.distance.reset();
  if (takes_texts) {
    options.guide = kNoGuide;
    options.guide_margin.reset();
    options.guide_relative_margin.reset();
  }
  return options;
}

}  // namespace

SimilarityObjective similarity_objective(const Settings& settings, Task task, bool has_scores) {
  const bool has_labels = traits(task).has_label_column;
  const EmbeddingOptions options = options_of_loss(settings, has_labels, has_scores);
  const SimilarityLoss loss = options.loss.value_or(usual_loss(settings, task));
  SimilarityObjective objective{.loss = loss};
  const bool computes_loss =
      traits(settings.mode).reads(kEvalRows) || traits(settings.mode).trains();
  if (computes_loss) refuse_useless_flags(options, loss);
  if (computes_loss && has_labels) refuse_weights(settings, loss);
  const bool is_triplet = loss == SimilarityLoss::kTriplet;
  const bool is_divergence = loss == SimilarityLoss::kDistillKl;
  objective.scale = options.scale.value_or(is_divergence ? 1 : objective.scale);
  objective.teacher_scale = options.teacher_scale.value_or(objective.scale);
  objective.margin = options.margin.value_or(is_triplet ? 5 : 0.5);
  objective.distance = options.distance.value_or(is_triplet ? EmbeddingDistance::kEuclidean
                                                            : EmbeddingDistance::kCosine);
  // A finished model is scored without the model that guided its training.
  const bool runs_guide = options.has_guide() && !(options.has_other_guide() &&
                                                   traits(settings.mode).runs_finished_model());
  const GuideContrasts contrasts = options.guide_contrasts;
  objective.contrasts_anchors =
      runs_guide && (contrasts == GuideContrasts::kAnchors || contrasts == GuideContrasts::kBoth);
  objective.contrasts_positives =
      runs_guide && (contrasts == GuideContrasts::kPositives || contrasts == GuideContrasts::kBoth);
  objective.rule = {.is_on = runs_guide,
                    .margin = options.guide_margin.value_or(0),
                    .relative_margin = options.guide_relative_margin.value_or(0)};
  objective.nested = nested_sizes(options);
  if (options.truncate_dim && traits(settings.mode).runs_finished_model()) {
    objective.compared_size = *options.truncate_dim;
    objective.nested = {{.size = *options.truncate_dim}};
  }
  return objective;
}

void check_similarity(const Settings& settings) {
  nested_sizes(settings.embedding);
  if (!settings.embedding.prompt.empty() && !settings.embedding.prompt_name.empty()) {
    throw Error(Code::kUsage, "the prompt is given twice", "--prompt-name",
                "leave it or --prompt out");
  }
  if (!traits(settings.mode).trains()) return;
  check_teacher(settings);
  check_sources(settings);
  refuse_useless_flags(settings.embedding, settings.embedding.loss);
  refuse_weights(settings, settings.embedding.loss);
}

void require_sizes(const SimilarityObjective& objective, const ModelConfig& config) {
  if (objective.nested.empty()) return;
  const int64_t largest = objective.nested.front().size, own = config.embedding_dimension();
  if (largest > own) {
    throw Error(
        Code::kUsage, cat(largest, " is more than the ", own, " numbers of the model's embeddings"),
        objective.compared_size > 0 ? "--truncate-dim" : kSizesFlag, cat("give at most ", own));
  }
}

void warn_of_sizes(const SimilarityObjective& objective, const ModelConfig& config) {
  if (objective.nested.empty()) return;
  const int64_t largest = objective.nested.front().size, own = config.embedding_dimension();
  if (largest >= own) return;
  log_warning(cat(kSizesFlag, " lacks ", own, ", the size of the model's embeddings, so their ",
                  own - largest, " last numbers are not trained"));
}

void require_truncation(const EmbeddingOptions& options, const ModelConfig& config, Task task) {
  if (!options.truncate_dim) return;
  if (!makes_embeddings(task)) {
    throw Error(Code::kUsage, "the model makes no embeddings here", "--truncate-dim",
                "leave it out, or use --mode embed or --task similarity");
  }
  require_sizes(
      {.nested = {{.size = *options.truncate_dim}}, .compared_size = *options.truncate_dim},
      config);
}

}  // namespace berth
