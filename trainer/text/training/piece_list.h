#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace berth {

// The growing vocabulary of a trainer. A piece that continues a word begins with `prefix`, which
// may be empty. Not thread-safe.
class PieceList {
 public:
  explicit PieceList(std::string prefix) : prefix_(std::move(prefix)) {}

  // Returns the id of a piece, which is added if it is new. Ids count from 0.
  int32_t add(std::string piece);
  int32_t find(std::string_view piece) const;  // -1 if absent
  // Adds the piece that two neighbors become: the second loses its prefix.
  int32_t join(int32_t left, int32_t right);

  size_t size() const { return pieces_.size(); }
  const std::vector<std::string>& pieces() const { return pieces_; }

 private:
  std::string prefix_;
  std::vector<std::string> pieces_;
  std::unordered_map<std::string, int32_t> ids_;
};

}  // namespace berth
