#include "trainer/corpus/near_duplicates.h"

#include <cstring>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "trainer/corpus/text_hash.h"

namespace berth {
namespace {

uint64_t key_of(const MinHash& sketch, size_t band) {
  uint64_t key;
  std::memcpy(&key, sketch.data() + band * NearDuplicateIndex::kRows, sizeof key);
  return key;
}

}  // namespace

static_assert(NearDuplicateIndex::kBands * NearDuplicateIndex::kRows == std::tuple_size_v<MinHash>);

size_t NearDuplicateIndex::memory_bytes() const {
  return chunks_.size() * sizeof(Chunk) + kBands * tables_[0].size() * sizeof(uint32_t);
}

void NearDuplicateIndex::append(const MinHash& sketch) {
  if (count_ == kMostTexts) {
    throw Error(Code::kBadData, cat("has more than ", kMostTexts, " different texts"), "",
                "clean it in parts, or give --near-duplicate-threshold 0");
  }
  if (count_ % kChunk == 0) chunks_.push_back(std::make_unique<Chunk>());
  (*chunks_.back())[count_ % kChunk] = sketch;
  ++count_;
}

void NearDuplicateIndex::insert(size_t band, uint32_t index) {
  std::vector<uint32_t>& table = tables_[band];
  const size_t mask = table.size() - 1;
  size_t place = mixed(key_of(sketch(index), band)) & mask;
  while (table[place] != 0) place = (place + 1) & mask;
  table[place] = index + 1;
}

// Doubles the tables. The texts of each band keep their order, so that what is found does not
// depend on when tables grew. Texts that were not added for their band are not added now either.
void NearDuplicateIndex::grow() {
  for (size_t band = 0; band < kBands; ++band) {
    std::vector<uint32_t> old(tables_[band].empty() ? 64 : 2 * tables_[band].size());
    old.swap(tables_[band]);
    // A run of full slots may go on from the end of the table to its beginning. So begin after an
    // empty slot.
    size_t begin = 0;
    while (begin < old.size() && old[begin] != 0) ++begin;
    for (size_t i = 0; i < old.size(); ++i) {
      const uint32_t entry = old[(begin + i) % old.size()];
      if (entry != 0) insert(band, entry - 1);
    }
  }
}

std::optional<SimilarText> NearDuplicateIndex::find_or_add(const MinHash& wanted) {
  std::array<size_t, kBands> places;  // where the text goes in each table
  std::array<bool, kBands> is_full{};
  if (4 * (count_ + 1) > 3 * tables_[0].size()) grow();
  const size_t mask = tables_[0].size() - 1;
  for (size_t band = 0; band < kBands; ++band) {
    const std::vector<uint32_t>& table = tables_[band];
    const uint64_t key = key_of(wanted, band);
    size_t place = mixed(key) & mask, compared = 0;
    for (; table[place] != 0 && compared < kMostCompared; place = (place + 1) & mask) {
      const MinHash& other = sketch(table[place] - 1);
      if (key_of(other, band) != key) continue;
      ++compared;
      const double found = similarity(wanted, other);
      if (found >= threshold_) return SimilarText{table[place] - 1, found};
    }
    places[band] = place;
    is_full[band] = compared == kMostCompared;
  }
  append(wanted);
  for (size_t band = 0; band < kBands; ++band) {
    if (!is_full[band]) tables_[band][places[band]] = static_cast<uint32_t>(count_);
  }
  return std::nullopt;
}

}  // namespace berth
