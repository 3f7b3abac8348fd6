#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "trainer/cpu/kernels/kernels.h"
#include "trainer/cpu/kernels/row_losses.h"
#include "trainer/cpu/kernels/row_samples.h"

namespace berth {
namespace {

// The softmax of a row, of which some columns were seen so far.
struct RowSoftmax {
  float max = -std::numeric_limits<float>::infinity();
  double sum_of_exp = 0;  // relative to max
  double sum = 0;         // of the logits; only where labels are smoothed
  float target = 0;       // the target's logit
  int64_t best = 0;       // the first column that has the logit `max`

  double log_sum_exp() const { return static_cast<double>(max) + std::log(sum_of_exp); }

  // Adds columns [first, first + count).
  void add(const CpuLoops& loops, const float* logits, int64_t first, int64_t count) {
    const float most = loops.maximum(logits, count);
    const double exps = loops.sum_of_exp(logits, most, count);
    if (most > max) {
      sum_of_exp = sum_of_exp * std::exp(static_cast<double>(max - most)) + exps;
      max = most;
      best = first + (std::find(logits, logits + count, most) - logits);
    } else {
      sum_of_exp += exps * std::exp(static_cast<double>(most - max));
    }
  }
};

// The softmaxes of some rows, tile by tile. Borrows what it is made from.
class VocabularyRows {
 public:
  VocabularyRows(const CpuLoops& loops, const VocabularyInputs& inputs, int64_t vocabulary,
                 float smoothing)
      : loops_(loops),
        targets_(inputs.targets.i32()),
        has_weights_(inputs.weights),
        vocabulary_(vocabulary),
        smoothing_(smoothing),
        losses_(inputs.x.rows(), inputs.weights),
        softmaxes_(static_cast<size_t>(inputs.x.rows())) {}

  // Takes the logits of a row inside a tile. Called once for each tile of the row.
  void add(const Tile& tile, int64_t row, const float* logits) {
    RowSoftmax& softmax = softmaxes_[static_cast<size_t>(row)];
    softmax.add(loops_, logits, tile.column, tile.columns);
    if (smoothing_ > 0) softmax.sum += loops_.sum(logits, tile.columns);
    const int64_t target = targets_[row] - tile.column;
    if (target >= 0 && target < tile.columns) softmax.target = logits[target];
  }

  // Ends the row, after all of its tiles were added. `prediction` is its row of
  // VocabularyOutputs::predictions.
  void finish(int64_t row, float* prediction) {
    const RowSoftmax& softmax = softmaxes_[static_cast<size_t>(row)];
    auto target = static_cast<double>(softmax.target);
    if (smoothing_ > 0) {
      const double mean = softmax.sum / static_cast<double>(vocabulary_);
      target += static_cast<double>(smoothing_) * (mean - target);
    }
    const double loss = targets_[row] >= 0 ? softmax.log_sum_exp() - target : 0;
    if (targets_[row] >= 0) losses_.set(row, loss);
    prediction[0] = static_cast<float>(loss);
    prediction[1] = static_cast<float>(softmax.best);
  }

  bool has_target(int64_t row) const { return targets_[row] >= 0; }

  // Turns the logits of a finished row inside a tile into their probabilities.
  void make_probabilities(const Tile& tile, int64_t row, float* logits) const {
    const double log_sum = softmaxes_[static_cast<size_t>(row)].log_sum_exp();
    loops_.softmax(logits, static_cast<float>(log_sum), tile.columns, logits);
  }

  // Draws from the probabilities of a finished row inside a tile.
  void sample(const Tile& tile, int64_t row, const float* probabilities,
              RowSamples& samples) const {
    samples.add(row, probabilities, tile.column, tile.columns);
    if (tile.column + tile.columns < vocabulary_) return;
    samples.finish(row, softmaxes_[static_cast<size_t>(row)].best);
  }

  // Turns the probabilities of a finished row inside a tile into the gradient of the logits.
  void make_gradient(const Tile& tile, int64_t row, float* logits) const {
    const int64_t target = targets_[row] - tile.column;
    if (target >= 0 && target < tile.columns) logits[target] -= 1.0f - smoothing_;
    if (smoothing_ == 0 && !has_weights_) return;
    const float weight = losses_.weight(row);
    const float share = smoothing_ / static_cast<float>(vocabulary_);
    for (int64_t c = 0; c < tile.columns; ++c) logits[c] = weight * (logits[c] - share);
  }

  void add_losses_to(StepState& state) const { losses_.add_to(state); }

 private:
  const CpuLoops& loops_;
  const int32_t* const targets_;
  const bool has_weights_;
  const int64_t vocabulary_;
  const float smoothing_;
  RowLosses losses_;
  std::vector<RowSoftmax> softmaxes_;
};

// The matrix [rows,columns] in the memory of a tile.
Tensor part_of(Tensor memory, const Tile& tile) {
  assert(tile.rows * tile.columns <= memory.elements());
  memory.rank = 2;
  memory.shape = {tile.rows, tile.columns, 0};
  return memory;
}

// Calls fn(tile) for the tiles of some rows, from the first column on.
template <typename Fn>
void for_columns(Tile tile, int64_t most_columns, int64_t vocabulary, const Fn& fn) {
  for (tile.column = 0; tile.column < vocabulary; tile.column += most_columns) {
    tile.columns = std::min(most_columns, vocabulary - tile.column);
    fn(tile);
  }
}

}  // namespace

// With few rows, whole rows fit. With a small vocabulary, 256 whole rows fit: then the table's
// gradient is read and written once for 256 rows, which costs less than a second pass. With a large
// vocabulary, 1,024 rows share each packed panel of the table.
TileSize Kernels::vocabulary_tile(int64_t rows, int64_t vocabulary) {
  constexpr int64_t kElements = int64_t{1} << 21, kMostRows = 1024, kLeastRows = 256;
  rows = std::clamp<int64_t>(rows, 1, kMostRows);
  if (rows * vocabulary <= kElements) return {rows, vocabulary};
  if (kLeastRows * vocabulary <= kElements) return {kElements / vocabulary, vocabulary};
  return {rows, kElements / rows / kPanelColumns * kPanelColumns};
}

void Kernels::vocabulary_logits(const VocabularyInputs& inputs, const Weight& w, const Tile& tile,
                                Tensor logits) {
  const int64_t inner = inputs.x.columns();
  std::optional<Bf16Part> packed;
  if (w.forward()) packed = w.forward()->columns_from(tile.column, tile.columns);
  multiply_by(w, packed,
              {.m = tile.rows,
               .n = tile.columns,
               .k = inner,
               .a = {inputs.x.f32() + tile.row * inner, inner},
               .b = {w.values().f32() + tile.column * inner, inner, true},
               .c = logits.f32(),
               .c_stride = tile.columns,
               .bias = inputs.bias.f32() + tile.column});
}

void Kernels::add_vocabulary_gradients(const VocabularyInputs& inputs, const Weight& w,
                                       const Tile& tile, ConstTensor dlogits,
                                       const VocabularyOutputs& outputs) {
  const int64_t inner = inputs.x.columns();
  const float* const x = inputs.x.f32() + tile.row * inner;
  std::optional<Bf16Part> packed;
  if (w.backward()) packed = w.backward()->depths_from(tile.column, tile.columns);
  multiply_by(w, packed,
              {.m = tile.rows,
               .n = inner,
               .k = tile.columns,
               .a = {dlogits.f32(), tile.columns},
               .b = {w.values().f32() + tile.column * inner, inner},
               .c = outputs.dx.f32() + tile.row * inner,
               .c_stride = inner,
               .add = tile.column > 0});
  if (outputs.dw) {
    multiply_by(w, std::nullopt,
                {.m = tile.columns,
                 .n = inner,
                 .k = tile.rows,
                 .a = {dlogits.f32(), tile.columns, true},
                 .b = {x, inner},
                 .c = outputs.dw.f32() + tile.column * inner,
                 .c_stride = inner,
                 .add = true});
  }
  if (outputs.dbias) add_column_sums(dlogits, outputs.dbias.slice(tile.column, tile.columns));
}

void Kernels::vocabulary_cross_entropy(const VocabularyInputs& inputs, const Weight& w,
                                       float smoothing, StepState& state,
                                       const VocabularyOutputs& outputs) {
  const ProfileScope scope(pool_.profiler(), "vocabulary_cross_entropy",
                           bytes_of({inputs.x, w.values(), outputs.dx, outputs.dw}));
  const int64_t rows = inputs.x.rows(), vocabulary = w.values().rows();
  const TileSize most{outputs.tile.rows(), std::min(outputs.tile.columns(), vocabulary)};
  assert(most.columns % kPanelColumns == 0 || most.columns == vocabulary);
  assert(inputs.targets.elements() == rows && outputs.predictions.elements() == 2 * rows);
  VocabularyRows softmaxes(loops_, inputs, vocabulary, smoothing);
  RowSamples samples(loops_, inputs.draws, outputs.samples);
  const auto for_rows = [&](const Tile& tile, const auto& fn) {
    parallel(tile.rows, row_grain(tile.columns), [&](int64_t begin, int64_t end, int) {
      float* const logits = outputs.tile.f32();
      for (int64_t r = begin; r < end; ++r) fn(tile.row + r, logits + r * tile.columns);
    });
  };
  for (Tile block{}; block.row < rows; block.row += most.rows) {
    block.rows = std::min(most.rows, rows - block.row);
    for_columns(block, most.columns, vocabulary, [&](const Tile& tile) {
      vocabulary_logits(inputs, w, tile, part_of(outputs.tile, tile));
      for_rows(tile, [&](int64_t row, float* logits) { softmaxes.add(tile, row, logits); });
    });
    for (int64_t row = block.row; row < block.row + block.rows; ++row) {
      softmaxes.finish(row, outputs.predictions.f32() + 2 * row);
    }
    if (!outputs.dx && !samples) continue;
    for_columns(block, most.columns, vocabulary, [&](const Tile& tile) {
      const Tensor part = part_of(outputs.tile, tile);
      if (most.columns < vocabulary) vocabulary_logits(inputs, w, tile, part);
      for_rows(tile, [&](int64_t row, float* logits) {
        if (!softmaxes.has_target(row)) {
          std::fill_n(logits, tile.columns, 0.0f);
          return;
        }
        softmaxes.make_probabilities(tile, row, logits);
        if (samples) softmaxes.sample(tile, row, logits, samples);
        if (outputs.dx) softmaxes.make_gradient(tile, row, logits);
      });
      if (outputs.dx) add_vocabulary_gradients(inputs, w, tile, part, outputs);
    });
  }
  softmaxes.add_losses_to(state);
}

}  // namespace berth
