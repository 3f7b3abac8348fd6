#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "trainer/model/update.h"
#include "trainer/xla/stablehlo/operations.h"

namespace berth {

// Four random words as a pure function of a counter and a key, element by element. All are u32 of
// one shape, but the words of the key may be scalars.
using RandomWords = std::array<stablehlo::Value, 4>;
using RandomKey = std::array<stablehlo::Value, 2>;

// Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3": Philox 4x32-10, as
// philox4x32() of storage/base/philox.h, or Threefry 4x32-13 with zeros as the key's other words.
RandomWords random_words(DropoutGenerator generator, const RandomWords& counter,
                         const RandomKey& key);

// A number, u32.
stablehlo::Value word(stablehlo::Graph& graph, uint32_t number);

// Threefry 4x32-13 with a whole key.
RandomWords threefry4x32(const RandomWords& counter, const RandomWords& key);

// Dropout (Srivastava et al. 2014) by counters: a generator with a key of (seed, step, site)
// decides from the number of a row and the place in it. kPhilox decides as storage/base/philox.h
// and the CPU's kernels do. The same numbers are dropped, to the bit.
class DropoutMasks {
 public:
  // `step_words` is u32 [4]: low and high word of the seed, then of the step. `layers` is the
  // number of the model's layers, which have sites (trainer/model/dropout_sites.h). If `together`,
  // the first request for a kind of site draws the masks of that layer and of all layers behind it.
  // This compiles faster than a draw for each layer. A mask takes half a byte for each element.
  DropoutMasks(stablehlo::Value step_words, int64_t layers, bool together,
               DropoutGenerator generator = DropoutGenerator::kPhilox);

  // x [N,K], with each element dropped with probability p or else scaled by 1/(1-p). `rows`, u32
  // [N], are the numbers of its rows.
  stablehlo::Value drop(stablehlo::Value x, double p, uint32_t site, stablehlo::Value rows);
  // The same for probabilities [R,A,S,S] of attention: of query tokens with the numbers `rows`, u32
  // [R,S], for each key of the query's own sequence, which begins at column 8 * first_block, u32
  // [R,S]. Other keys get anything.
  stablehlo::Value drop_probabilities(stablehlo::Value x, double p, uint32_t site,
                                      stablehlo::Value rows, stablehlo::Value first_block);

 private:
  // A block of eight elements: its number in the row, its head, and the row's number. u32, all of
  // one shape.
  using Blocks = std::array<stablehlo::Value, 3>;
  // Which elements of blocks are dropped at the sites first, first + 4 and so on: u32 [sites,...].
  struct Draw {
    uint32_t first_site;
    stablehlo::Value dropped;
  };

  // What the elements of the blocks [...,n] are multiplied by: f32 [...,8*n].
  stablehlo::Value factors(double p, uint32_t site, const Blocks& blocks);
  RandomKey keys_of(uint32_t site, int64_t count);

  stablehlo::Value step_words_;
  int64_t layers_;
  bool together_;
  DropoutGenerator generator_;
  std::map<uint32_t, RandomKey> keys_of_range_;  // [sites / 4, 4], by the first site
  std::map<std::vector<uint32_t>, Draw> draws_;
};

}  // namespace berth
