#include "trainer/data/distinct_texts.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace berth {
namespace {

// The texts of a row, each once, as hashes of 64 bits. Texts with equal hashes count as equal.
void hash_texts(const Example& example, std::vector<uint64_t>& hashes) {
  hashes.clear();
  for (const std::string& text : example.texts) {
    hashes.push_back(std::hash<std::string_view>()(text));
  }
  std::ranges::sort(hashes);
  hashes.erase(std::ranges::unique(hashes).begin(), hashes.end());
}

}  // namespace

DistinctTexts::DistinctTexts(Dataset& data, int64_t batch_size, int64_t token_budget)
    : data_(data), batch_size_(batch_size), token_budget_(token_budget) {}

void DistinctTexts::read(int64_t first, size_t count) {
  if (first == first_ && begins_.size() == count + 1) return;
  first_ = first;
  std::vector<uint64_t> all, hashes;
  std::vector<uint32_t> ends;
  for (size_t place = 0; place < count; ++place) {
    hash_texts(data_.example(first + static_cast<int64_t>(place)), hashes);
    all.insert(all.end(), hashes.begin(), hashes.end());
    ends.push_back(static_cast<uint32_t>(all.size()));
  }
  // Most texts occur once. Only the others are kept.
  std::vector<uint64_t> sorted = all;
  std::ranges::sort(sorted);
  std::unordered_map<uint64_t, uint32_t> numbers;
  for (size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i] != sorted[i - 1]) continue;
    numbers.try_emplace(sorted[i], static_cast<uint32_t>(numbers.size()));
  }
  begins_.assign(1, 0);
  repeated_.clear();
  size_t at = 0;
  for (const uint32_t end : ends) {
    for (; at < end; ++at) {
      const auto found = numbers.find(all[at]);
      if (found != numbers.end()) repeated_.push_back(found->second);
    }
    begins_.push_back(static_cast<uint32_t>(repeated_.size()));
  }
  batch_of_.assign(numbers.size(), 0);
  batch_ = 0;
}

std::span<const uint32_t> DistinctTexts::repeated(size_t place) const {
  return std::span(repeated_).subspan(begins_[place], begins_[place + 1] - begins_[place]);
}

bool DistinctTexts::may_join(int64_t index) const {
  return std::ranges::none_of(repeated(static_cast<size_t>(index - first_)),
                              [this](uint32_t text) { return batch_of_[text] == batch_; });
}

void DistinctTexts::join(int64_t index) {
  for (const uint32_t text : repeated(static_cast<size_t>(index - first_))) {
    batch_of_[text] = batch_;
  }
}

// One pass over the rows of a block. A row that is passed over waits at one of the texts that it
// shares with the batch. All rows that wait at a text of the batch are passed over at once. So the
// pass takes a time of about n log n, whichever texts repeat. `Place` is a row's place in the
// order.
class DistinctTexts::Arrangement {
 public:
  Arrangement(DistinctTexts& texts, const std::vector<uint32_t>& order)
      : texts_(texts), order_(order), waiting_(texts.batch_of_.size()) {}

  std::vector<uint32_t> run() {
    while (made_.size() < order_.size()) make_batch();
    return std::move(made_);
  }

 private:
  using Place = uint32_t;
  struct Text {
    std::priority_queue<Place, std::vector<Place>, std::greater<>> rows{};  // the first one on top
    bool is_listed = false;                                                 // in heads_
    bool is_blocked = false;                                                // in blocked_
  };

  std::span<const uint32_t> texts_of(Place place) const { return texts_.repeated(order_[place]); }
  bool is_in_batch(uint32_t text) const { return texts_.batch_of_[text] == texts_.batch_; }

  void make_batch() {
    texts_.begin_batch();
    tokens_ = 0;
    size_ = 0;
    for (bool is_open = true; is_open && size_ < texts_.batch_size_;) {
      if (!heads_.empty()) {
        is_open = try_waiting();
      } else if (fresh_ < order_.size()) {
        is_open = try_fresh();
      } else {
        break;
      }
    }
    for (const uint32_t text : blocked_) {
      waiting_[text].is_blocked = false;
      list(text);
    }
    blocked_.clear();
  }

  // Tries the first row that waits. Returns whether the batch may take more rows.
  bool try_waiting() {
    const auto [place, text] = *heads_.begin();
    heads_.erase(heads_.begin());
    waiting_[text].is_listed = false;
    if (is_in_batch(text)) {
      block(text);
      return true;
    }
    const std::optional<uint32_t> shared = shared_text(place);
    if (!shared && !has_room(place)) {
      list(text);
      return false;
    }
    waiting_[text].rows.pop();
    if (shared) {
      wait(place, *shared);
    } else {
      take(place);
    }
    list(text);
    return true;
  }

  bool try_fresh() {
    const std::optional<uint32_t> shared = shared_text(fresh_);
    if (!shared && !has_room(fresh_)) return false;
    if (shared) {
      wait(fresh_, *shared);
    } else {
      take(fresh_);
    }
    ++fresh_;
    return true;
  }

  std::optional<uint32_t> shared_text(Place place) const {
    for (const uint32_t text : texts_of(place)) {
      if (is_in_batch(text)) return text;
    }
    return std::nullopt;
  }

  // Whether the budget has room for the row; an empty batch always has.
  bool has_room(Place place) {
    if (texts_.token_budget_ == 0) return true;
    length_ = texts_.data_.length(texts_.first_ + order_[place]);
    return size_ == 0 || tokens_ + length_ <= texts_.token_budget_;
  }

  void take(Place place) {
    made_.push_back(order_[place]);
    texts_.join(texts_.first_ + order_[place]);
    tokens_ += length_;
    ++size_;
  }

  // Has the row wait at a text of the batch.
  void wait(Place place, uint32_t text) {
    Text& waiting = waiting_[text];
    if (std::exchange(waiting.is_listed, false)) heads_.erase({waiting.rows.top(), text});
    waiting.rows.push(place);
    block(text);
  }

  // Keeps the rows that wait at the text out of this batch.
  void block(uint32_t text) {
    if (std::exchange(waiting_[text].is_blocked, true)) return;
    blocked_.push_back(text);
  }

  // Lists the first row that waits at the text, unless the batch has that text.
  void list(uint32_t text) {
    Text& waiting = waiting_[text];
    if (waiting.rows.empty() || waiting.is_listed || waiting.is_blocked) return;
    waiting.is_listed = true;
    heads_.emplace(waiting.rows.top(), text);
  }

  DistinctTexts& texts_;
  const std::vector<uint32_t>& order_;
  std::vector<uint32_t> made_;
  std::vector<Text> waiting_;                   // rows at each repeated text
  std::set<std::pair<Place, uint32_t>> heads_;  // the first row at each text that is not blocked
  std::vector<uint32_t> blocked_;
  Place fresh_ = 0;  // the first row that no batch has tried
  int64_t size_ = 0, tokens_ = 0, length_ = 0;
};

void DistinctTexts::arrange(int64_t first, std::vector<uint32_t>& order) {
  read(first, order.size());
  order = Arrangement(*this, order).run();
}

}  // namespace berth
