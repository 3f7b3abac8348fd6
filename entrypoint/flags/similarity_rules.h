#pragma once

#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "trainer/inputs/options.h"
#include "trainer/model/config.h"
#include "trainer/model/similarity.h"
#include "trainer/model/task.h"

namespace berth {

// The loss of `task`, which compares texts, with the settings that flags ask for and the defaults
// of sentence-transformers. `has_scores`: the rows have a teacher's scores. A finished model is
// scored by the usual loss where the loss of its training needs a teacher. Throws kUsage where a
// flag changes nothing in this loss, or has no valid value.
SimilarityObjective similarity_objective(const Settings& settings, Task task, bool has_scores);

// The values of --similarity-loss, and the name of one.
std::span<const std::pair<const char*, SimilarityLoss>> similarity_losses();
std::string_view name_of(SimilarityLoss loss);

// The sizes of --matryoshka-dims with their weights, the largest first. Throws kUsage where the
// flags are malformed.
std::vector<NestedSize> nested_sizes(const EmbeddingOptions& options);

// The same refusals, where the command line alone shows them.
void check_similarity(const Settings& settings);

// Throws kUsage where a size is larger than the embeddings of the model.
void require_sizes(const SimilarityObjective& objective, const ModelConfig& config);
// Warns where no size is the size of the whole embeddings.
void warn_of_sizes(const SimilarityObjective& objective, const ModelConfig& config);
// Throws kUsage where --truncate-dim is larger than the embeddings, or where `task`, for which the
// model is used, makes none.
void require_truncation(const EmbeddingOptions& options, const ModelConfig& config, Task task);

}  // namespace berth
