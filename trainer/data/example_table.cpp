#include "trainer/data/example_table.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <span>

#include "storage/base/checksum.h"
#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
namespace {

// Writes to the end of a text.
class Writer {
 public:
  explicit Writer(std::string& bytes) : bytes_(bytes) {}
  void byte(char value) { bytes_ += value; }
  void text(std::string_view text) { bytes_ += text; }
  size_t size() const { return bytes_.size(); }

 private:
  std::string& bytes_;
};

// Counts the bytes that a Writer would write.
class Counter {
 public:
  void byte(char) { ++size_; }
  void text(std::string_view text) { size_ += text.size(); }
  size_t size() const { return size_; }

 private:
  size_t size_ = 0;
};

bool repeats(std::string_view bytes, const std::string& text, size_t i, const TextPlaces& before) {
  constexpr size_t kShortest = 256;
  return text.size() >= kShortest && i < before.size() && before[i].size == text.size() &&
         bytes.substr(before[i].offset, before[i].size) == text;
}

template <typename Out>
void put(Out& out, uint64_t number) {
  for (; number >= 0x80; number >>= 7) out.byte(static_cast<char>(number | 0x80));
  out.byte(static_cast<char>(number));
}

template <typename Out>
void put(Out& out, std::string_view text) {
  put(out, uint64_t{text.size()});
  out.text(text);
}

template <typename Out>
void put(Out& out, float number) {
  char raw[sizeof number];
  std::memcpy(raw, &number, sizeof number);
  out.text({raw, sizeof raw});
}

template <typename Out>
void put(Out& out, const std::vector<int32_t>& numbers) {
  put(out, uint64_t{numbers.size()});
  for (const int32_t number : numbers) put(out, uint64_t{static_cast<uint32_t>(number)});
}

// On entry, `places` has the places of the texts that are not written again. It gets the places of
// the other texts.
template <typename Out>
void put(Out& out, const Example& example, const std::vector<bool>& repeated, TextPlaces& places) {
  put(out, std::string_view(example.id));
  put(out, uint64_t{example.texts.size()});
  for (size_t i = 0; i < example.texts.size(); ++i) {
    const std::string& text = example.texts[i];
    put(out, repeated[i] ? uint64_t{1} : 2 * uint64_t{text.size()});
    if (repeated[i]) continue;
    places[i] = {out.size(), text.size()};
    out.text(text);
  }
  put(out, example.token_ids);
  put(out, example.token_types);
  put(out, example.labels);
  put(out, example.score);
  put(out, uint64_t{example.answers.size()});
  for (const Answer& answer : example.answers) {
    put(out, std::string_view(answer.text));
    put(out, uint64_t{answer.start});
  }
  put(out, example.weight);
  put(out, uint64_t{example.text_scores.size()});
  for (const float score : example.text_scores) put(out, score);
  if (!example.masked.empty()) put(out, example.masked);
}

uint64_t take_number(std::string_view& bytes) {
  uint64_t number = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    number |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return number;
  }
}

std::string take_text(std::string_view& bytes) {
  const uint64_t size = take_number(bytes);
  std::string text(bytes.substr(0, size));
  bytes.remove_prefix(size);
  return text;
}

float take_float(std::string_view& bytes) {
  float number;
  std::memcpy(&number, bytes.data(), sizeof number);
  bytes.remove_prefix(sizeof number);
  return number;
}

std::vector<int32_t> take_numbers(std::string_view& bytes) {
  std::vector<int32_t> numbers(take_number(bytes));
  for (int32_t& number : numbers) number = static_cast<int32_t>(take_number(bytes));
  return numbers;
}

// Sets `places` to the places of the texts at the front of `rest`, which is the end of `bytes`.
void take_places(std::string_view bytes, std::string_view& rest, TextPlaces& places) {
  places.resize(take_number(rest));
  for (TextPlace& place : places) {
    const uint64_t code = take_number(rest);
    if (code == 1) continue;  // the place in the example before
    place = {bytes.size() - rest.size(), code / 2};
    rest.remove_prefix(place.size);
  }
}

}  // namespace

bool repeats_text(std::string_view bytes, const Example& example, const TextPlaces& before) {
  for (size_t i = 0; i < example.texts.size(); ++i) {
    if (repeats(bytes, example.texts[i], i, before)) return true;
  }
  return false;
}

void append_example(std::string& bytes, const Example& example, TextPlaces& before) {
  std::vector<bool> repeated;
  for (size_t i = 0; i < example.texts.size(); ++i) {
    repeated.push_back(repeats(bytes, example.texts[i], i, before));
  }
  before.resize(example.texts.size());
  TextPlaces unused(before);
  Counter counter;
  put(counter, example, repeated, unused);
  const uint64_t of_example = counter.size();
  put(counter, of_example);
  bytes.reserve(bytes.size() + counter.size());
  Writer writer(bytes);
  put(writer, of_example);
  put(writer, example, repeated, before);
}

Example parse_example(std::string_view bytes, size_t& at, TextPlaces& before) {
  std::string_view rest = bytes.substr(at);
  const uint64_t size = take_number(rest);
  const size_t end = bytes.size() - rest.size() + size;
  Example example;
  example.id = take_text(rest);
  take_places(bytes, rest, before);
  for (const TextPlace& place : before) {
    example.texts.emplace_back(bytes.substr(place.offset, place.size));
  }
  example.token_ids = take_numbers(rest);
  example.token_types = take_numbers(rest);
  example.labels = take_numbers(rest);
  example.score = take_float(rest);
  example.answers.resize(take_number(rest));
  for (Answer& answer : example.answers) {
    answer.text = take_text(rest);
    answer.start = static_cast<uint32_t>(take_number(rest));
  }
  example.weight = take_float(rest);
  example.text_scores.resize(take_number(rest));
  for (float& score : example.text_scores) score = take_float(rest);
  if (bytes.size() - rest.size() < end) example.masked = take_numbers(rest);
  at = bytes.size() - rest.size();
  return example;
}

void skip_example(std::string_view bytes, size_t& at, TextPlaces& before) {
  std::string_view rest = bytes.substr(at);
  const uint64_t size = take_number(rest);
  at = bytes.size() - rest.size() + size;
  rest.remove_prefix(take_number(rest));  // the id
  take_places(bytes, rest, before);
}

namespace {

// Rounds `count` so that rows with equal texts are not divided, and returns the result. On entry,
// the `count` rows with the lowest hashes are at the front. The other rows of the last text are
// moved to them. If no row would be left behind them, the rows of that text are taken out instead.
// If all rows have the same text, `count` is returned.
size_t whole_texts(std::vector<uint32_t>& rows, size_t count, const std::deque<uint32_t>& hashes) {
  if (count == 0) return 0;
  uint32_t last = 0;
  for (size_t i = 0; i < count; ++i) last = std::max(last, hashes[rows[i]]);
  const auto end_of = [&](const auto& belongs) {
    return static_cast<size_t>(std::partition(rows.begin(), rows.end(), belongs) - rows.begin());
  };
  const size_t with = end_of([&](uint32_t row) { return hashes[row] <= last; });
  if (with < rows.size()) return with;
  const size_t without = end_of([&](uint32_t row) { return hashes[row] < last; });
  return without > 0 ? without : count;
}

uint64_t seeded_hash(uint64_t seed, uint32_t row) {
  return mixed_bits(mixed_bits(seed + 0x9e3779b97f4a7c15) + row);
}

// Moves the `count` rows with the lowest keys to the front of `rows`. Among rows with equal keys,
// those with lower numbers come first.
template <typename Key>
void select_lowest(std::vector<uint32_t>& rows, size_t count, const Key& key) {
  const auto less = [&](uint32_t a, uint32_t b) {
    const auto key_a = key(a), key_b = key(b);
    return key_a != key_b ? key_a < key_b : a < b;
  };
  std::nth_element(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(count), rows.end(),
                   less);
}

// The rows of each stratum.
std::map<int32_t, std::vector<uint32_t>> by_stratum(const std::vector<uint32_t>& rows,
                                                    const std::deque<int32_t>& strata) {
  std::map<int32_t, size_t> sizes;
  for (const uint32_t row : rows) ++sizes[strata[row]];
  std::map<int32_t, std::vector<uint32_t>> members;
  for (const auto& [stratum, size] : sizes) members[stratum].reserve(size);
  for (const uint32_t row : rows) members[strata[row]].push_back(row);
  return members;
}

size_t part(double fraction, size_t whole) {
  return static_cast<size_t>(std::llround(fraction * static_cast<double>(whole)));
}

}  // namespace

uint32_t text_hash(std::string_view text) {
  // mixed_bits(0) is 0.
  const uint64_t bits =
      text.empty() ? uint64_t{1} : crc32c(as_bytes(text)) | uint64_t{text.size()} << 32;
  return static_cast<uint32_t>(mixed_bits(bits) >> 32);
}

RowKeys as_before_blank_rule(RowKeys keys) {
  for (const uint32_t row : keys.blank) {
    if (keys.hashes[row] == text_hash("")) keys.hashes[row] = 0;
  }
  keys.blank.clear();
  return keys;
}

Split stratified_split(const RowKeys& keys, double fraction, std::span<const uint32_t> left_out) {
  Split split;
  for (uint32_t row = 0; row < keys.strata.size(); ++row) {
    if (!std::ranges::binary_search(left_out, row)) split.train.push_back(row);
  }
  if (fraction == 0) return split;
  std::vector<bool> is_held_out(keys.strata.size());
  for (auto& [stratum, rows] : by_stratum(split.train, keys.strata)) {
    size_t count = part(fraction, rows.size());
    if (rows.size() >= 2) count = std::clamp<size_t>(count, 1, rows.size() - 1);
    select_lowest(rows, count, [&keys](uint32_t row) { return keys.hashes[row]; });
    count = whole_texts(rows, count, keys.hashes);
    for (size_t i = 0; i < count; ++i) is_held_out[rows[i]] = true;
  }
  const auto first =
      std::ranges::stable_partition(split.train, [&](uint32_t row) { return !is_held_out[row]; });
  split.held_out.assign(first.begin(), first.end());
  split.train.erase(first.begin(), first.end());
  return split;
}

std::vector<uint32_t> stratified_fraction(const std::vector<uint32_t>& rows,
                                          const std::deque<int32_t>& strata, double fraction,
                                          uint64_t seed) {
  if (fraction == 1) return rows;
  std::vector<uint32_t> kept;
  for (auto& [stratum, members] : by_stratum(rows, strata)) {
    const size_t count = std::max<size_t>(part(fraction, members.size()), 1);
    select_lowest(members, count, [seed](uint32_t row) { return seeded_hash(seed, row); });
    kept.insert(kept.end(), members.begin(), members.begin() + static_cast<std::ptrdiff_t>(count));
  }
  std::sort(kept.begin(), kept.end());
  return kept;
}

std::vector<uint32_t> chosen_rows(const std::vector<uint32_t>& rows, int64_t count, uint64_t seed) {
  if (count >= static_cast<int64_t>(rows.size())) return rows;
  std::vector<uint32_t> kept = rows;
  select_lowest(kept, static_cast<size_t>(count),
                [seed](uint32_t row) { return seeded_hash(seed, row); });
  kept.resize(static_cast<size_t>(count));
  std::sort(kept.begin(), kept.end());
  return kept;
}

namespace {

// Adds what training uses of an example to a checksum.
uint32_t digest_of(const Example& example, uint32_t crc) {
  const auto add = [&crc](const auto& values) {
    const auto count = static_cast<uint32_t>(values.size());
    crc = crc32c(std::as_bytes(std::span(&count, 1)), crc);
    crc = crc32c(std::as_bytes(std::span(values)), crc);
  };
  for (const std::string& text : example.texts) add(text);
  add(example.token_ids);
  add(example.token_types);
  add(example.labels);
  for (const Answer& answer : example.answers) {
    add(answer.text);
    add(std::vector{answer.start});
  }
  add(std::vector{example.score, example.weight});
  if (!example.text_scores.empty()) add(example.text_scores);
  return crc;
}

}  // namespace

void ExampleTable::append(const Example& example) {
  digest_ = digest_of(example, digest_);
  has_ids |= !example.id.empty();
  if (rows_ == kMostRows) throw Error(Code::kBadData, cat("has more than ", kMostRows, " rows"));
  const uint64_t end = (file_ ? file_->size() : 0) + buffer_.size();
  if (blocks_.empty() || rows_ - blocks_.back().first_row == kRowsOfBlock ||
      (end - blocks_.back().offset >= kBytesOfBlock &&
       !repeats_text(buffer_, example, last_texts_))) {
    begin_block();
  }
  append_example(buffer_, example, last_texts_);
  ++rows_;
}

// The next row is the first one of a block. Only whole blocks are moved to the file.
void ExampleTable::begin_block() {
  last_texts_.clear();
  if (buffer_.size() >= memory_bytes_) {
    if (!file_) file_ = std::make_unique<SpillFile>();
    file_->append(as_bytes(buffer_));
    buffer_.clear();
  }
  blocks_.push_back({static_cast<uint32_t>(rows_), (file_ ? file_->size() : 0) + buffer_.size()});
}

void ExampleTable::adopt(std::unique_ptr<StoredExamples> stored) {
  stored_ = std::move(stored);
  rows_ = stored_->rows();
}

void ExampleTable::add_key(const Example& example, std::string_view split_key, Task task) {
  const bool has_class = traits(task).labels == LabelKind::kClass && !example.labels.empty();
  if (trimmed(split_key).empty()) keys_.blank.push_back(static_cast<uint32_t>(keys_.hashes.size()));
  keys_.hashes.push_back(text_hash(split_key));
  keys_.strata.push_back(has_class ? example.labels[0] : 0);
}

void ExampleTable::finish() {
  if (rows_ == 0) {
    throw Error(Code::kBadData, "has no rows", "",
                "give a file with rows; `berth inspect FILE` shows what berth reads of one");
  }
  labels.settle();
  settle_strata();
  for (const std::string& label : labels.names()) {
    digest_ = crc32c(as_bytes(label), digest_);
  }
  if (!file_) return;
  file_->append(as_bytes(buffer_));
  std::string().swap(buffer_);
}

void ExampleTable::settle_strata() {
  const std::vector<int32_t> first = labels.first_entries();
  for (int32_t& stratum : keys_.strata) {
    if (stratum >= 0 && static_cast<size_t>(stratum) < first.size()) {
      stratum = first[static_cast<size_t>(stratum)];
    }
  }
}

// The rows from the first one of the block with `row` on, and how many of them come before `row`.
ExampleTable::FoundRow ExampleTable::find_row(uint32_t row, std::string& storage) const {
  const auto next = std::upper_bound(
      blocks_.begin(), blocks_.end(), row,
      [](uint32_t wanted, const Block& block) { return wanted < block.first_row; });
  const Block& block = *(next - 1);
  const uint32_t before = row - block.first_row;
  if (!file_) return {std::string_view(buffer_).substr(block.offset), before};
  const uint64_t end = next == blocks_.end() ? file_->size() : next->offset;
  storage.resize(end - block.offset);
  file_->read_at(block.offset, std::as_writable_bytes(std::span(storage)));
  return {storage, before};
}

size_t ExampleTable::memory_bytes() const {
  return buffer_.capacity() + blocks_.size() * sizeof(Block) +
         (left_out_.size() + repeated_.size()) * sizeof(uint32_t) +
         source_rows_.size() * sizeof(uint64_t);
}

uint64_t ExampleTable::source_row(uint32_t row) const {
  if (!source_rows_.empty()) return source_rows_[row];
  const auto before = [row](const std::vector<uint32_t>& rows) {
    return static_cast<uint64_t>(std::ranges::upper_bound(rows, row) - rows.begin());
  };
  return row + before(left_out_) - before(repeated_);
}

Example ExampleTable::read(uint32_t row) const {
  if (stored_) return stored_->read(row);
  thread_local std::string storage;
  auto [rows, before] = find_row(row, storage);
  size_t at = 0;
  TextPlaces places;
  for (; before > 0; --before) skip_example(rows, at, places);
  Example example = parse_example(rows, at, places);
  if (storage.capacity() > 2 * kBytesOfBlock) std::string().swap(storage);  // of a long row
  return example;
}

}  // namespace berth
