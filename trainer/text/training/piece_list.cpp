#include "trainer/text/training/piece_list.h"

#include <utility>

namespace berth {

int32_t PieceList::add(std::string piece) {
  const auto [found, is_new] = ids_.emplace(piece, static_cast<int32_t>(pieces_.size()));
  if (is_new) pieces_.push_back(std::move(piece));
  return found->second;
}

int32_t PieceList::find(std::string_view piece) const {
  const auto found = ids_.find(std::string(piece));
  return found == ids_.end() ? -1 : found->second;
}

int32_t PieceList::join(int32_t left, int32_t right) {
  std::string piece = pieces_[static_cast<size_t>(left)];
  std::string_view rest = pieces_[static_cast<size_t>(right)];
  if (rest.starts_with(prefix_)) rest.remove_prefix(prefix_.size());
  piece += rest;
  return add(std::move(piece));
}

}  // namespace berth
