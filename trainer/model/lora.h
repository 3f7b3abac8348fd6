#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "trainer/model/config.h"
#include "trainer/model/parameters.h"

namespace berth {

// Low-rank adaptation (Hu et al. 2021, arXiv:2106.09685) of every layer's query and value: y = x
// W^T + b + alpha / rank * dropout(x) A^T B^T. A [rank,H] and B [H,rank] learn, and the head; the
// encoder keeps its values. B begins as zeros, so that the model begins as it was.
struct LoraOptions {
  int64_t rank = 0;  // 0: none, the whole model learns
  double alpha = 16;
  double dropout = 0;

  explicit operator bool() const { return rank > 0; }
  float scale() const { return static_cast<float>(alpha / static_cast<double>(rank)); }
};

// An adapted dense layer, without ".weight": its name and its place among query, key and value.
struct LoraTarget {
  std::string name;
  int place;
};
std::array<LoraTarget, 2> lora_targets(const ModelConfig& config, int64_t layer);

// "NAME.lora_A.weight", as PEFT names them.
std::string lora_a_name(const std::string& target);
std::string lora_b_name(const std::string& target);

// Fills `merged`, whose table is the config's without adapters, from `adapted`: every adapted
// matrix becomes W + alpha / rank * B A, all others are copied.
void merge_adapters(const LoraOptions& lora, const Parameters& adapted, Parameters& merged,
                    Kernels& kernels);

}  // namespace berth
