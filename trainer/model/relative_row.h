#pragma once

#include <cstdint>

namespace berth {

struct ModelConfig;

// The row of the table for a distance (query minus key), from 0 to 2 * relative_span() - 1. Short
// distances have a row each; long ones share rows, the more the longer they are (He et al. 2021,
// arXiv:2111.09543, and its published code). The row does not decrease with the distance.
int32_t relative_row(const ModelConfig& config, int64_t distance);

}  // namespace berth
