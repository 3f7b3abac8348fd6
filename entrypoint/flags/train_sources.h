#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/inputs/options.h"
#include "trainer/model/similarity.h"

namespace berth {

// A source of rows beside --train-data-file, with its own loss.
struct TrainSource {
  std::string file{};
  double weight = 1;                     // see RowSource
  std::optional<SimilarityLoss> loss{};  // empty: by whether its rows have labels
  std::optional<double> scale{}, margin{};
  double max_similarity = 1;

  // The settings of a job that has this source alone.
  Settings settings(const Settings& job) const;
};

// Reads FILE,weight=2,loss=cosent,scale=20,margin=0.5,max-similarity=5, where all but the file may
// be absent. Throws kUsage, naming the part.
TrainSource parse_train_source(std::string_view text);
// The sources of DataOptions::train_sources.
std::vector<TrainSource> train_sources(const DataOptions& data);

// Throws kUsage where a flag does not suit several sources.
void check_sources(const Settings& settings);

}  // namespace berth
