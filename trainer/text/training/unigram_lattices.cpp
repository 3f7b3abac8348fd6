#include "trainer/text/training/unigram_lattices.h"

#include <algorithm>
#include <array>
#include <limits>

#include "trainer/text/training/unigram_words.h"

namespace berth {

void UnigramLattices::add(std::u32string_view text,
                          const std::unordered_map<std::u32string_view, int32_t>& ids) {
  for (size_t begin = 0; begin < text.size(); ++begin) {
    const size_t longest = std::min(kLongestPiece, text.size() - begin);
    for (size_t size = 1; size <= longest; ++size) {
      const auto found = ids.find(text.substr(begin, size));
      if (found == ids.end()) continue;
      arcs_.push_back(
          {static_cast<uint8_t>(begin), static_cast<uint8_t>(begin + size), found->second});
    }
  }
  ends_.push_back(arcs_.size());
  lengths_.push_back(static_cast<uint8_t>(text.size()));
}

void UnigramLattices::renumber(const std::vector<int32_t>& new_ids) {
  uint64_t kept = 0, begin = 0;
  for (uint64_t& end : ends_) {
    for (uint64_t i = begin; i < end; ++i) {
      Arc arc = arcs_[i];
      arc.piece = new_ids[static_cast<size_t>(arc.piece)];
      if (arc.piece >= 0) arcs_[kept++] = arc;
    }
    begin = end;
    end = kept;
  }
  arcs_.resize(kept);
}

void UnigramLattices::keep_texts(const std::vector<int32_t>& new_ids) {
  uint64_t kept_arcs = 0, begin = 0;
  size_t kept = 0;
  for (size_t text = 0; text < ends_.size(); ++text) {
    const uint64_t end = ends_[text];
    if (new_ids[text] >= 0) {
      for (uint64_t i = begin; i < end; ++i) arcs_[kept_arcs++] = arcs_[i];
      ends_[kept] = kept_arcs;
      lengths_[kept++] = lengths_[text];
    }
    begin = end;
  }
  arcs_.resize(kept_arcs);
  ends_.resize(kept);
  lengths_.resize(kept);
  renumber(new_ids);
}

double UnigramLattices::best_path(size_t text, const std::vector<double>& scores, int32_t without,
                                  std::vector<int32_t>& path) const {
  constexpr double kNoWay = -std::numeric_limits<double>::infinity();
  struct Node {
    double score;
    const Arc* arc;
  };
  std::array<Node, 256> best;
  const uint8_t size = length(text);
  std::fill_n(best.begin(), size + 1, Node{kNoWay, nullptr});
  best[0].score = 0;
  for (const Arc* arc = begin(text); arc != end(text); ++arc) {
    if (arc->piece == without || best[arc->begin].score == kNoWay) continue;
    const double score = best[arc->begin].score + scores[static_cast<size_t>(arc->piece)];
    if (score > best[arc->end].score) best[arc->end] = {score, arc};
  }
  if (best[size].score == kNoWay) return kNoWay;
  for (uint8_t at = size; at > 0; at = best[at].arc->begin) path.push_back(best[at].arc->piece);
  return best[size].score;
}

}  // namespace berth
