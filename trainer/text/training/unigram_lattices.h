#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace berth {

// All ways to put texts together from pieces: for each text, the places where a piece stands.
// Texts have at most 255 characters. Reading is thread-safe.
class UnigramLattices {
 public:
  struct Arc {
    uint8_t begin, end;  // in characters of the text
    int32_t piece;
  };

  // Appends a text. The pieces are found in `ids`.
  void add(std::u32string_view text, const std::unordered_map<std::u32string_view, int32_t>& ids);

  // Renumbers the pieces: piece i becomes new_ids[i], and its arcs are removed if that is -1.
  void renumber(const std::vector<int32_t>& new_ids);
  // For lattices of the pieces' own texts. Renumbers the pieces and the texts: text i becomes text
  // new_ids[i]. The new ids of the pieces that stay must be 0, 1, ... in order.
  void keep_texts(const std::vector<int32_t>& new_ids);

  size_t size() const { return ends_.size(); }
  uint8_t length(size_t text) const { return lengths_[text]; }
  // The arcs of a text, by where they begin and then by where they end.
  const Arc* begin(size_t text) const { return arcs_.data() + (text == 0 ? 0 : ends_[text - 1]); }
  const Arc* end(size_t text) const { return arcs_.data() + ends_[text]; }

  // Finds the most probable way to put a text together, without the arc of piece `without` (-1:
  // with all). Appends its pieces to `path`, last first. Returns the sum of their scores, or minus
  // infinity if there is no way.
  double best_path(size_t text, const std::vector<double>& scores, int32_t without,
                   std::vector<int32_t>& path) const;

 private:
  std::vector<Arc> arcs_;
  std::vector<uint64_t> ends_;  // of each text's arcs
  std::vector<uint8_t> lengths_;
};

}  // namespace berth
