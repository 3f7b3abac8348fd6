#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "storage/formats/row_reader.h"

namespace berth {

// Warns of columns outside of `used` that say which split a row belongs to: by their names, as
// "is_valid", or because all `rows` have "train", "dev" and the like there. `rows` may be empty.
std::vector<Finding> look_for_splits(std::span<const Column> columns, std::span<const Row> rows,
                                     std::span<const size_t> used);

}  // namespace berth
