#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trainer/data/dataset.h"
#include "trainer/inputs/load_data.h"
#include "trainer/inputs/sentence_files.h"

namespace berth {

// The texts of rows that are compared, each once, as a table of its own. So another model embeds a
// text that many rows share once.
class RowTexts {
 public:
  // The texts of `rows` of the table, with the prompts before them. Throws what ExampleTable
  // throws.
  RowTexts(const LoadedTable& loaded, std::span<const uint32_t> rows, const SearchPrompts& prompts);

  const LoadedTable& table() const { return texts_; }
  size_t texts() const { return texts_.table->rows(); }
  // The vectors of the rows, where `vectors` has a vector for each text. Called once.
  TextVectors take_vectors(RowTargets vectors) {
    return {std::move(vectors), group_, std::move(places_)};
  }

 private:
  LoadedTable texts_;
  size_t group_ = 0;              // the texts of a row
  std::vector<uint32_t> places_;  // as in TextVectors
};

}  // namespace berth
