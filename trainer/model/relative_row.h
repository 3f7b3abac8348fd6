#pragma once

#include <cstdint>

namespace berth {

struct ModelConfig;

// The row of the table for a distance (query minus key), from 0 to 2 * relative_span() - 1. Short
// distances have a row each; long ones share rows, the more the longer they are (He et al. 2021,
// arXiv:2111.09543, and its published code). The row does not decrease with the distance.
int32_t relative_row(const ModelConfig& config, int64_t distance);

// The row of MPNet's table of 32 biases for a distance (query minus key): the bucket of T5 (Raffel
// et al. 2019, arXiv:1910.10683). Rows 0 to 15 are of keys at or before the query, and rows 16 to
// 31 of keys behind it. Distances of less than 8 have a row each; longer ones share rows up to 128.
int32_t position_bias_row(int64_t distance);

}  // namespace berth
