#pragma once

#include <cstddef>
#include <functional>

namespace berth {

// Called often while a vocabulary is made, which has `pieces` pieces by now and should have `goal`
// in the end. WordPiece and BPE add pieces to the characters, so the number grows. Unigram removes
// pieces from many candidates, so it falls. The vocabulary is done as soon as there are few enough
// candidates, or no frequent pairs, and not always at the goal. May be empty.
using OnPieces = std::function<void(size_t pieces, size_t goal)>;

}  // namespace berth
