#include "trainer/data/dataset.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <exception>
#include <thread>
#include <utility>

#include "storage/base/dtype.h"
#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
namespace {

std::vector<uint64_t> running_sums(std::span<const uint32_t> counts) {
  std::vector<uint64_t> sums = {0};
  sums.reserve(counts.size() + 1);
  for (const uint32_t count : counts) sums.push_back(sums.back() + count);
  return sums;
}

}  // namespace

RowTargets::RowTargets(size_t rows, size_t width, DType dtype)
    : RowTargets(std::vector<uint32_t>(rows, 1), width, dtype) {}

RowTargets::RowTargets(std::span<const uint32_t> vectors, size_t width, DType dtype)
    : width_(width),
      dtype_(dtype),
      vector_bytes_(width * size_of(dtype)),
      first_(running_sums(vectors)),
      values_(first_.back() * vector_bytes_) {
  assert(dtype == DType::kBF16 || dtype == DType::kF32);
}

void RowTargets::set(uint32_t row, std::span<const float> numbers, size_t first) {
  assert(numbers.size() % width_ == 0);
  assert(first * vector_bytes_ + numbers.size() * size_of(dtype_) <= row_bytes(row));
  std::byte* out = values_.data() + begin(row) + first * vector_bytes_;
  if (dtype_ == DType::kF32) {
    std::memcpy(out, numbers.data(), numbers.size_bytes());
    return;
  }
  for (const float number : numbers) {
    const uint16_t rounded = to_bf16(number);
    std::memcpy(out, &rounded, sizeof rounded);
    out += sizeof rounded;
  }
}

void RowTargets::append_to(uint32_t row, std::vector<float>& out, size_t first,
                           size_t count) const {
  const Bytes from = bytes(row).subspan(first * vector_bytes_, count * vector_bytes_);
  const size_t before = out.size(), numbers = count * width_;
  out.resize(before + numbers);
  if (dtype_ == DType::kF32) {
    std::memcpy(out.data() + before, from.data(), from.size());
    return;
  }
  for (size_t i = 0; i < numbers; ++i) {
    uint16_t bits;
    std::memcpy(&bits, from.data() + i * sizeof bits, sizeof bits);
    out[before + i] = from_bf16(bits);
  }
}

void RowTargets::set_bytes(uint32_t row, Bytes bytes) {
  assert(bytes.size() == row_bytes(row));
  std::ranges::copy(bytes, values_.begin() + static_cast<std::ptrdiff_t>(begin(row)));
}

void TextVectors::append_to(uint32_t row, std::vector<float>& out) const {
  for (size_t text = 0; text < group_; ++text) {
    const uint32_t place = places_[row * group_ + text];
    assert(place != kNone);
    vectors_.append_to(place, out);
  }
}

namespace {

constexpr size_t kRecentRows = 256;
constexpr int64_t kJudgedRows = 64;
// Of a table on disk: neighbours that are read one after the other, and how many of these runs are
// shuffled together.
constexpr int64_t kRun = 64, kRunsOfBlock = 256;
// The least memory for windows of such a table that were made lately.
constexpr size_t kRecentWindowsBytes = size_t{64} << 20;

uint32_t token_count(const Features& features) {
  return static_cast<uint32_t>(features.input_ids.size());
}

}  // namespace

Dataset::Dataset(const ExampleTable& table, std::vector<uint32_t> rows, Task task,
                 const FeatureMaker& maker, bool labelled)
    : table_(table), rows_(std::move(rows)), task_(task), maker_(maker), labelled_(labelled) {
  const InputKind inputs = traits(task_).inputs;
  if (inputs == InputKind::kQuestion || inputs == InputKind::kDocument ||
      inputs == InputKind::kSentences) {
    count_windows();
    const bool are_texts = !rows_.empty() && table_.read(rows_.front()).token_ids.empty();
    if (are_texts) make_pairs();
  } else if (!table_.spilled()) {
    kept_.resize(rows_.size());
  }
}

namespace {

[[noreturn]] void refuse_empty() {
  throw Error(Code::kBadData, "the text has no tokens", "", "remove the row, or fill it in");
}

// Errors of `make` name the row and the table.
template <typename Make>
auto made_of(const ExampleTable& table, uint32_t row, Make make) {
  try {
    return make(table.read(row));
  } catch (const Error& error) {
    const Error located = error.at(cat("row ", table.source_row(row)));
    throw table.name.empty() ? located : located.at(table.name);
  }
}

}  // namespace

std::vector<Features> make_features(const ExampleTable& table, const FeatureMaker& maker,
                                    uint32_t row) {
  return made_of(table, row, [&](const Example& example) {
    std::vector<Features> made = maker.make(example);
    for (const Features& features : made) {
      if (features.input_ids.empty()) refuse_empty();
    }
    return made;
  });
}

std::vector<Features> Dataset::make(uint32_t row) const {
  return make_features(table_, maker_, row);
}

std::unique_ptr<RowFeatures> Dataset::plan(uint32_t row) {
  return made_of(table_, row, [&](const Example& example) {
    std::unique_ptr<RowFeatures> made = maker_.plan(example);
    for (size_t i = 0; i < made->size(); ++i) {
      if (made->tokens(i) == 0) refuse_empty();
    }
    // Texts are copied from where they are read, and vectors of tokens while they grow.
    size_t size_bytes = made->memory_bytes();
    for (const std::string& text : example.texts) size_bytes += text.size();
    longest_row_ = std::max(longest_row_, 2 * size_bytes);
    return made;
  });
}

void Dataset::make_pairs() {
  try {
    pairs_ = maker_.pairs(lengths_, first_feature_);
  } catch (const Error& error) {
    throw table_.name.empty() ? error : error.at(table_.name);
  }
}

void Dataset::count_windows() {
  first_feature_ = {0};
  for (const uint32_t row : rows_) {
    std::unique_ptr<RowFeatures> windows = plan(row);
    const int64_t first = first_feature_.back();
    first_feature_.push_back(static_cast<uint32_t>(first) + static_cast<uint32_t>(windows->size()));
    for (size_t i = 0; i < windows->size(); ++i) {
      lengths_.push_back(static_cast<uint32_t>(windows->tokens(i)));
    }
    const size_t size_bytes = windows->memory_bytes();
    windows_of_rows_ += size_bytes;
    most_windows_ = std::max(most_windows_, size_bytes);
    if (!table_.spilled()) windows_.push_back(std::move(windows));
  }
}

int64_t Dataset::size() const {
  if (pairs_) return pairs_->pairs.size();
  return has_windows() ? first_feature_.back() : rows();
}

uint64_t Dataset::source_row(int64_t index, int64_t epoch) const {
  if (!pairs_) return source_row(index);
  SentencePairs pairs = pairs_->pairs;
  pairs.begin(MaskingRound::of_epoch(epoch));
  return table_.source_row(rows_[pairs.document(index)]);
}

std::vector<std::string> Dataset::label_names(int64_t index) const {
  std::vector<std::string> names;
  for (const int32_t entry : example(index).labels) {
    names.push_back(entry < 0 ? "" : table_.labels.name_of(entry));
  }
  return names;
}

int32_t Dataset::source_of(int64_t index) const {
  int32_t source = source_;
  for (int64_t end = 0; const RowSource& each : sources_) {
    end += each.rows;
    if (index < end) break;
    ++source;
  }
  return source;
}

ShuffledRuns Dataset::shuffled_runs() const {
  constexpr int64_t kBlock = kRun * kRunsOfBlock;
  if (!table_.spilled() || size() <= kBlock) return {.rows = size()};
  if (is_read_in_order_) return {.rows = kBlock};
  // A row is tokenized as a whole, so a run has several rows where a row has many windows.
  const int64_t windows = pairs_ ? 1 : size() / std::max<int64_t>(1, rows());
  const int64_t run = std::clamp<int64_t>(4 * windows, kRun, kBlock);
  return {.rows = run, .runs_of_block = kBlock / run};
}

size_t Dataset::most_recent_bytes() const {
  const size_t all = static_cast<size_t>(std::max<int64_t>(1, size()));
  const size_t of_block = windows_of_rows_ / all * static_cast<size_t>(kRun * kRunsOfBlock);
  return std::max({kRecentWindowsBytes, 2 * of_block, most_windows_});
}

int64_t Dataset::row_index(int64_t index) const {
  if (pairs_) return pairs_->pairs.document(index);
  if (!has_windows()) return index;
  const auto after = std::upper_bound(first_feature_.begin(), first_feature_.end(), index);
  return after - first_feature_.begin() - 1;
}

int64_t Dataset::length(int64_t index) {
  if (pairs_) {
    const SentencePair& pair = pairs_->pairs.pair(index);
    return static_cast<int64_t>(pairs_->frame.size()) + pairs_->pairs.tokens(pair.first) +
           pairs_->pairs.tokens(pair.second);
  }
  if (!lengths_.empty()) return lengths_[static_cast<size_t>(index)];
  return static_cast<int64_t>(features(index).input_ids.size());
}

size_t Dataset::first_vector(int64_t index) {
  const int64_t first =
      has_windows() ? first_feature_[static_cast<size_t>(row_index(index))] : index;
  int64_t tokens = 0;
  for (int64_t before = first; before < index; ++before) tokens += length(before);
  return static_cast<size_t>(tokens);
}

// Several threads call this for different rows, so no two threads write to the same place.
void Dataset::count_tokens_of(size_t row) {
  lengths_[row] =
      token_count(kept_.empty() ? make(rows_[row]).front() : features(static_cast<int64_t>(row)));
}

void Dataset::count_tokens(int threads, const std::atomic<bool>& stop) {
  if (!lengths_.empty()) return;
  lengths_.resize(static_cast<size_t>(size()));
  const auto parts = static_cast<size_t>(threads);
  std::vector<std::exception_ptr> failures(parts);
  const auto count_part = [&](size_t part) {
    try {
      const size_t end = rows_.size() * (part + 1) / parts;
      for (size_t row = rows_.size() * part / parts; row < end && !stop; ++row) {
        count_tokens_of(row);
      }
    } catch (...) {
      failures[part] = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> workers;
    for (size_t part = 1; part < parts; ++part) workers.emplace_back(count_part, part);
    count_part(0);
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

size_t Dataset::memory_bytes() {
  const size_t of_rows =
      (rows_.size() + first_feature_.size() + lengths_.size()) * sizeof(uint32_t) +
      maker_.memory_bytes() + (pairs_ ? pairs_->pairs.memory_bytes() : 0);
  if (pairs_ && table_.spilled()) {
    const size_t of_recent = windows_of_rows_ / std::max<size_t>(1, rows_.size()) * kRecentRows;
    return of_rows + of_recent + longest_row_;
  }
  if (has_windows()) {
    if (table_.spilled()) {
      return of_rows + std::min(windows_of_rows_, most_recent_bytes()) + longest_row_;
    }
    size_t of_windows = 0;
    for (const auto& windows : windows_) of_windows += windows->memory_bytes();
    return of_rows + of_windows;
  }
  const auto all = static_cast<int64_t>(kept_.size());  // with rows on disk, only a few are cached
  if (all == 0) return of_rows;
  const int64_t judged = std::min(kJudgedRows, all);
  size_t size_bytes = 0;
  for (int64_t i = 0; i < judged; ++i)
    size_bytes += berth::memory_bytes(features(all * i / judged));
  return of_rows + size_bytes * static_cast<size_t>(all) / static_cast<size_t>(judged);
}

// The windows of a row.
const RowFeatures& Dataset::windows_of(int64_t row) {
  return windows_.empty() ? recent(row) : *windows_[static_cast<size_t>(row)];
}

// Appends the tokens of some sentences to the current features.
void Dataset::append(const SentenceRun& run, int32_t type) {
  std::vector<int32_t>& ids = current_.input_ids;
  const RowFeatures& sentences = windows_of(run.document);
  const size_t before = ids.size();
  for (uint32_t i = run.begin; i < run.end; ++i) {
    const Features& sentence = sentences.get(i, sentence_);
    ids.insert(ids.end(), sentence.input_ids.begin(), sentence.input_ids.end());
  }
  ids.erase(ids.end() - static_cast<std::ptrdiff_t>(run.cut_back), ids.end());
  const auto from = ids.begin() + static_cast<std::ptrdiff_t>(before);
  ids.erase(from, from + run.cut_front);
  current_.token_type_ids.resize(ids.size(), type);
}

const Features& Dataset::compose(const SentencePair& pair) {
  const PairFrame& frame = pairs_->frame;
  const auto append_special = [&](const std::vector<int32_t>& ids, const auto& types) {
    current_.input_ids.insert(current_.input_ids.end(), ids.begin(), ids.end());
    current_.token_type_ids.insert(current_.token_type_ids.end(), types.begin(), types.end());
  };
  current_ = {};
  append_special(frame.before, frame.before_types);
  append(pair.first, frame.first_type);
  append_special(frame.between, frame.between_types);
  append(pair.second, frame.second_type);
  append_special(frame.behind, frame.behind_types);
  current_.classes = {pair.is_negative ? 1 : 0};
  return current_;
}

const Features& Dataset::features(int64_t index) {
  if (pairs_) return compose(pairs_->pairs.pair(index));
  const auto at = static_cast<size_t>(index);
  if (!kept_.empty()) {
    Features& kept = kept_[at];
    // Features without tokens have not been made yet. Made ones have at least one token.
    if (kept.input_ids.empty()) kept = make(rows_[at]).front();
    return kept;
  }
  const int64_t row = row_index(index);
  return windows_of(row).get(has_windows() ? at - first_feature_[static_cast<size_t>(row)] : 0,
                             current_);
}

const RowFeatures& Dataset::recent(int64_t row) {
  if (has_windows() && !pairs_) return recent_windows(row);
  if (recent_.empty()) recent_.resize(kRecentRows);
  Recent& recent = recent_[static_cast<size_t>(row) % kRecentRows];
  if (recent.row != row) recent = {row, plan(rows_[static_cast<size_t>(row)])};
  return *recent.features;
}

const RowFeatures& Dataset::recent_windows(int64_t row) {
  const auto found = recent_windows_.find(row);
  if (found != recent_windows_.end()) return *found->second;
  std::unique_ptr<RowFeatures> windows = plan(rows_[static_cast<size_t>(row)]);
  if (recent_bytes_ + windows->memory_bytes() > most_recent_bytes()) {
    recent_windows_.clear();
    recent_bytes_ = 0;
  }
  recent_bytes_ += windows->memory_bytes();
  return *recent_windows_.emplace(row, std::move(windows)).first->second;
}

bool has_any_label(Dataset& data) {
  const LabelKind kind = traits(data.task()).labels;
  for (int64_t i = 0; i < data.size(); ++i) {
    const Features& features = data.features(i);
    if (!(features.weight > 0)) continue;
    if (kind == LabelKind::kTagPerWord) {
      for (size_t token = 0; token < features.classes.size(); ++token) {
        const bool counts = features.token_weights.empty() || features.token_weights[token] > 0;
        if (counts && features.classes[token] >= 0) return true;
      }
    } else if (data.masking() != nullptr) {
      std::vector<int32_t> input_ids = features.input_ids;
      PackedBatch::MaskedTokens masked;
      if (data.masking()->mask(MaskingRound::of_evaluation(), static_cast<uint64_t>(i), input_ids,
                               0, masked) > 0) {
        return true;
      }
    } else {
      return true;
    }
  }
  return false;
}

}  // namespace berth
