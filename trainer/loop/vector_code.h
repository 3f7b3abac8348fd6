#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "trainer/inputs/options.h"

// Embeddings in fewer bits. Throws nothing.
namespace berth {

// The lowest and the highest value of each number of some vectors.
struct ValueRanges {
  std::vector<float> lowest{}, highest{};

  void add(std::span<const float> vector);
};

bool needs_ranges(EmbeddingsType type);
std::string_view name_of(EmbeddingsType type);

// Turns vectors into whole numbers, as quantize_embeddings() of sentence-transformers 6.2 does:
//   kInt8, kUint8      256 steps between the lowest and the highest value of each number, which are
//                      -128 and 127, or 0 and 255. Values beyond the range become its ends. A
//                      number that is always the same becomes the lowest.
//   kBinary, kUbinary  a bit for each number, which is 1 above 0. Eight are a byte, from its
//   highest
//                      bit on. kBinary subtracts 128 from the byte.
struct VectorCode {
  EmbeddingsType type = EmbeddingsType::kFloat32;
  ValueRanges ranges{};  // of kInt8 and kUint8

  // How many numbers stand for `width` ones, which are a multiple of 8 where they become bits.
  size_t width(size_t width) const;
  void apply(std::vector<float>& vector) const;
};

}  // namespace berth
