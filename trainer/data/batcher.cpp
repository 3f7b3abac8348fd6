#include "trainer/data/batcher.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

#include "storage/base/philox.h"

namespace berth {
namespace {

__extension__ using Wide = unsigned __int128;

}  // namespace

void permute(int64_t size, uint64_t seed, int64_t epoch, uint32_t stream,
             std::vector<uint32_t>& order) {
  constexpr uint32_t kPurpose = 0x70657266;  // no dropout site has this number
  order.resize(static_cast<size_t>(size));
  std::iota(order.begin(), order.end(), 0u);
  const auto key = philox_key(seed, static_cast<uint64_t>(epoch), kPurpose);
  for (int64_t i = size - 1; i > 0; --i) {
    const auto random = philox4x32(
        {low_word(static_cast<uint64_t>(i)), high_word(static_cast<uint64_t>(i)), stream, kPurpose},
        key);
    // Lemire's method (2019, arXiv:1805.10941): the high half of a 64-bit number times the range.
    // Its bias is below 2^-32.
    const uint64_t wide = uint64_t{random[0]} << 32 | random[1];
    const auto j =
        static_cast<size_t>((static_cast<Wide>(wide) * static_cast<uint64_t>(i + 1)) >> 64);
    std::swap(order[static_cast<size_t>(i)], order[j]);
  }
}

namespace {

constexpr uint32_t kRunsStream = 0xFFFFFFFF;  // no run has this number

}  // namespace

Sampler::Sampler(int64_t rows, ShuffledRuns runs, uint64_t seed, DistinctTexts* distinct)
    : rows_(rows),
      sizes_(runs),
      runs_((rows + runs.rows - 1) / runs.rows),
      blocks_((runs_ + runs.runs_of_block - 1) / runs.runs_of_block),
      seed_(seed),
      distinct_(distinct) {
  assert(rows > 0 && runs.rows > 0 && (distinct == nullptr || runs.runs_of_block == 1));
}

Sampler::Sampler(SourceOrder sources)
    : rows_(0),
      runs_(0),
      blocks_(sources.updates()),
      seed_(0),
      distinct_(nullptr),
      sources_(std::move(sources)) {}

void Sampler::order_runs(int64_t epoch) {
  if (runs_epoch_ == epoch) return;
  permute(runs_, seed_, epoch, kRunsStream, order_of_runs_);
  last_run_at_ =
      std::ranges::find(order_of_runs_, static_cast<uint32_t>(runs_ - 1)) - order_of_runs_.begin();
  runs_epoch_ = epoch;
}

int64_t Sampler::rows_before(int64_t block) const {
  const int64_t runs = std::min(block * sizes_.runs_of_block, runs_);
  const int64_t missing = runs_ * sizes_.rows - rows_;  // of the last run
  return runs * sizes_.rows - (last_run_at_ < runs ? missing : 0);
}

bool Sampler::holds(const DataCursor& cursor) {
  if (cursor.epoch < 0 || cursor.block < 0 || cursor.block >= blocks_ || cursor.index < 0) {
    return false;
  }
  if (sources_) return cursor.index < std::ssize(sources_->rows(cursor.epoch, cursor.block));
  order_runs(cursor.epoch);
  return cursor.index < size_of(cursor.block);
}

double Sampler::epochs_until(const DataCursor& cursor) {
  const auto epochs = static_cast<double>(cursor.epoch);
  if (sources_) return epochs + static_cast<double>(cursor.block) / static_cast<double>(blocks_);
  order_runs(cursor.epoch);
  const int64_t passed = rows_before(cursor.block) + cursor.index;
  return epochs + static_cast<double>(passed) / static_cast<double>(rows_);
}

int64_t Sampler::next(DataCursor& cursor) {
  int64_t row = 0, size = 0;
  if (sources_) {
    const std::span<const int64_t> rows = sources_->rows(cursor.epoch, cursor.block);
    row = rows[static_cast<size_t>(cursor.index)];
    size = std::ssize(rows);
  } else {
    order_runs(cursor.epoch);
    size = size_of(cursor.block);
    row = row_of(cursor);
  }
  if (++cursor.index == size) {
    cursor.index = 0;
    if (++cursor.block == blocks_) {
      cursor.block = 0;
      ++cursor.epoch;
    }
  }
  return row;
}

int64_t Sampler::row_of(const DataCursor& cursor) {
  const int64_t begin = cursor.block * sizes_.runs_of_block;
  const auto run_at = [&](int64_t place) { return order_of_runs_[static_cast<size_t>(place)]; };
  const int64_t first = run_at(begin) * sizes_.rows;  // of a block that is one run
  const bool is_one_run = sizes_.runs_of_block == 1;
  if (rows_epoch_ != cursor.epoch || rows_block_ != cursor.block) {
    permute(size_of(cursor.block), seed_, cursor.epoch, run_at(begin), order_of_rows_);
    if (distinct_ != nullptr) distinct_->arrange(first, order_of_rows_);
    rows_of_block_.clear();
    const int64_t end = is_one_run ? begin : std::min(begin + sizes_.runs_of_block, runs_);
    for (int64_t place = begin; place < end; ++place) {
      const int64_t row = run_at(place) * sizes_.rows;
      for (int64_t i = row; i < std::min(row + sizes_.rows, rows_); ++i) {
        rows_of_block_.push_back(static_cast<uint32_t>(i));
      }
    }
    rows_epoch_ = cursor.epoch;
    rows_block_ = cursor.block;
  }
  const uint32_t place = order_of_rows_[static_cast<size_t>(cursor.index)];
  return is_one_run ? first + place : rows_of_block_[place];
}

namespace {

// Collects the labels of features in the form that the batch has for their kind.
class LabelPacker {
 public:
  explicit LabelPacker(LabelKind kind) : kind_(kind) {}

  // Adds labels that are no part of the features: vectors of a row, which a teacher made.
  void add_vectors(const RowTargets& targets, uint32_t row, size_t first, size_t count,
                   float weight) {
    targets.append_to(row, targets_, first, count);
    weights_.insert(weights_.end(), count, weight);
  }
  // Makes room for as many vectors.
  void expect_vectors(size_t count, size_t width) { targets_.reserve(count * width); }

  // Adds what a teacher says of the row that was added last.
  void add_teacher(const RowTargets& teacher, uint32_t row, float weight) {
    const size_t before = teacher_logits_.size();
    teacher.append_to(row, teacher_logits_);
    if (kind_ == LabelKind::kClass) return;
    const size_t first = targets_.size() - teacher.width();
    for (size_t i = 0; i < teacher.width(); ++i) {
      const float logit = teacher_logits_[before + i];
      const float said = kind_ == LabelKind::kSet ? 1 / (1 + std::exp(-logit)) : logit;
      targets_[first + i] += weight * (said - targets_[first + i]);
    }
    teacher_logits_.resize(before);
  }

  // `first_token` is the place in the batch where the tokens of the features begin.
  void add(const Features& features, int32_t first_token) {
    const std::vector<int32_t>& classes = features.classes;
    if (kind_ == LabelKind::kPlaceInBatch) {
      classes_.push_back(static_cast<int32_t>(classes_.size()));
      text_scores_.insert(text_scores_.end(), features.targets.begin(), features.targets.end());
    } else if (kind_ == LabelKind::kSpan) {
      answers_.starts.push_back(first_token + classes[0]);
      answers_.ends.push_back(first_token + classes[1]);
    } else {
      classes_.insert(classes_.end(), classes.begin(), classes.end());
      targets_.insert(targets_.end(), features.targets.begin(), features.targets.end());
    }
    const std::vector<float>& of_tokens = features.token_weights;
    if (of_tokens.empty()) {
      const size_t weighed = kind_ == LabelKind::kTagPerWord ? classes.size() : 1;
      weights_.insert(weights_.end(), weighed, features.weight);
    } else {
      weights_.insert(weights_.end(), of_tokens.begin(), of_tokens.end());
    }
  }

  // Adds the labels of tokens that are masked already.
  void add_masked(const Features& features, int32_t first_token) {
    for (size_t i = 0; i < features.masked.size(); i += 2) {
      masked_.tokens.push_back(first_token + features.masked[i]);
      masked_.ids.push_back(features.masked[i + 1]);
    }
    weights_.insert(weights_.end(), features.masked.size() / 2, features.weight);
    add_next(features);
  }

  // Hides tokens of sequence `number`, which lies in the batch from `first_token` on.
  void mask(const Masking& masking, const MaskingRound& round, int64_t number,
            std::span<int32_t> input_ids, int32_t first_token, const Features& features) {
    const int64_t chosen =
        masking.mask(round, static_cast<uint64_t>(number), input_ids, first_token, masked_);
    weights_.insert(weights_.end(), static_cast<size_t>(chosen), features.weight);
    add_next(features);
  }

  void finish(PackedBatch& batch) {
    switch (kind_) {
      case LabelKind::kNumber:
      case LabelKind::kVector:
      case LabelKind::kVectorPerToken:
        batch.labels = PackedBatch::Scores{std::move(targets_)};
        break;
      case LabelKind::kSet:
        batch.labels = PackedBatch::ClassSets{std::move(targets_)};
        break;
      case LabelKind::kTagPerWord:
        batch.labels = PackedBatch::TokenClasses{std::move(classes_)};
        break;
      case LabelKind::kSpan:
        batch.labels = std::move(answers_);
        break;
      case LabelKind::kMaskedId:
        batch.labels = std::move(masked_);
        break;
      default:
        batch.labels = std::move(classes_);
    }
    batch.teacher_logits = std::move(teacher_logits_);
    batch.text_scores = std::move(text_scores_);
    const bool all_alike =
        std::all_of(weights_.begin(), weights_.end(), [](float weight) { return weight == 1; });
    if (!all_alike) batch.weights = std::move(weights_);
  }

 private:
  // Whether the second text of a pair follows the first one.
  void add_next(const Features& features) {
    masked_.next_sentences.insert(masked_.next_sentences.end(), features.classes.begin(),
                                  features.classes.end());
  }

  const LabelKind kind_;
  PackedBatch::Classes classes_;
  PackedBatch::Answers answers_;
  PackedBatch::MaskedTokens masked_;
  std::vector<float> targets_, weights_, teacher_logits_, text_scores_;
};

// Adds the places of the sequences of `features`, whose tokens begin at `first`. The sequences of a
// group are one example together.
void add_sequences(const Features& features, int32_t first, bool is_group, PackedBatch& batch) {
  const auto add = [&](int32_t end) {
    const size_t begin = batch.position_ids.size();
    batch.position_ids.resize(static_cast<size_t>(end));
    std::iota(batch.position_ids.begin() + static_cast<std::ptrdiff_t>(begin),
              batch.position_ids.end(), 0);
    batch.cu_seqlens.push_back(end);
  };
  if (features.ends.empty()) return add(static_cast<int32_t>(batch.input_ids.size()));
  for (const int32_t end : features.ends) add(first + end);
  if (is_group) batch.sequences_per_example = static_cast<int32_t>(features.ends.size());
}

// Whether `lengths` can be cut into at most `parts` parts of at most `most` tokens.
bool fit(std::span<const int64_t> lengths, size_t parts, int64_t most) {
  size_t used = 1;
  int64_t tokens = 0;
  for (const int64_t length : lengths) {
    if (length > most) return false;
    tokens += length;
    if (tokens <= most) continue;
    if (++used > parts) return false;
    tokens = length;
  }
  return true;
}

// Cuts neighbours into `parts` parts so that the largest one has as few tokens as possible. Returns
// where each part begins, and the end.
std::vector<size_t> balanced_cuts(std::span<const int64_t> lengths, size_t parts) {
  int64_t low = 0, high = std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (fit(lengths, parts, middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  std::vector<size_t> cuts = {0};
  int64_t tokens = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    tokens += lengths[i];
    if (tokens <= high) continue;
    cuts.push_back(i);
    tokens = lengths[i];
  }
  cuts.resize(parts + 1, lengths.size());
  return cuts;
}

// The tokens of the examples `indices`.
size_t tokens_of(Dataset& data, std::span<const int64_t> indices) {
  int64_t tokens = 0;
  for (const int64_t index : indices) tokens += data.length(index);
  return static_cast<size_t>(tokens);
}

}  // namespace

PackedBatch pack(Dataset& data, std::span<const int64_t> indices, const MaskingRound& round) {
  data.begin(round);
  PackedBatch batch;
  if (!indices.empty()) batch.source = data.source_of(indices.front());
  const LabelKind kind = traits(data.task()).labels;
  const bool is_group = traits(data.task()).inputs == InputKind::kTextGroup;
  LabelPacker labels(kind);
  if (data.labelled() && kind == LabelKind::kVectorPerToken) {
    labels.expect_vectors(tokens_of(data, indices), data.targets()->width());
  }
  for (const int64_t index : indices) {
    const Features& features = data.features(index);
    const size_t first = batch.input_ids.size(), length = features.input_ids.size();
    batch.input_ids.insert(batch.input_ids.end(), features.input_ids.begin(),
                           features.input_ids.end());
    batch.token_type_ids.insert(batch.token_type_ids.end(), features.token_type_ids.begin(),
                                features.token_type_ids.end());
    add_sequences(features, static_cast<int32_t>(first), is_group, batch);
    const TextVectors* const vectors = data.text_vectors();
    if (vectors != nullptr && vectors->has(data.row(index))) {
      vectors->append_to(data.row(index), batch.text_vectors);
    }
    if (const Masking* masking = data.masking()) {
      const auto ids = std::span(batch.input_ids).subspan(first);
      labels.mask(*masking, round, index, ids, static_cast<int32_t>(first), features);
    } else if (kind == LabelKind::kMaskedId) {
      labels.add_masked(features, static_cast<int32_t>(first));
    } else if (data.labelled() && are_vectors(kind)) {
      const bool is_of_tokens = kind == LabelKind::kVectorPerToken;
      labels.add_vectors(*data.targets(), data.row(index), data.first_vector(index),
                         is_of_tokens ? length : 1, features.weight);
    } else if (data.labelled()) {
      labels.add(features, static_cast<int32_t>(first));
      if (const RowTargets* teacher = data.targets()) {
        labels.add_teacher(*teacher, data.row(index), data.target_weight());
      }
    }
  }
  if (data.labelled() || data.masking() != nullptr) labels.finish(batch);
  return batch;
}

Features masked_features(Dataset& data, int64_t index, const MaskingRound& round) {
  data.begin(round);
  Features features = data.features(index);
  if (data.masking() == nullptr) return features;
  PackedBatch::MaskedTokens masked;
  data.masking()->mask(round, static_cast<uint64_t>(index), features.input_ids, 0, masked);
  for (size_t m = 0; m < masked.tokens.size(); ++m) {
    features.masked.insert(features.masked.end(), {masked.tokens[m], masked.ids[m]});
  }
  return features;
}

OrderedRows ordered_rows(const Dataset& data) {
  return {.rows = data.size(), .runs = data.shuffled_runs(), .sources = data.sources()};
}

Sampler make_sampler(const OrderedRows& rows, const BatchOptions& options,
                     DistinctTexts* distinct) {
  if (rows.sources.empty()) {
    return {rows.rows, options.keeps_texts_apart ? rows.runs.joined() : rows.runs, options.seed,
            distinct};
  }
  return Sampler(SourceOrder(rows.sources, options.source_mix, options.batch_size,
                             options.drop_remainder, options.seed, distinct));
}

Batcher::Batcher(const BatchOptions& options, Dataset& data)
    : options_(options),
      data_(data),
      distinct_(options.keeps_texts_apart ? std::make_optional<DistinctTexts>(
                                                data, options.batch_size, options.token_budget)
                                          : std::nullopt),
      sampler_(make_sampler(ordered_rows(data), options, distinct_ ? &*distinct_ : nullptr)) {
  find_skipped();
}

void Batcher::find_skipped() {
  if (data_.has_pairs()) return;  // later epochs have other pairs
  for (const SkippedData& skipped : options_.skipped) {
    for (DataCursor cursor = skipped.from; cursor != skipped.to;) {
      const int64_t epoch = cursor.epoch;
      if (epoch > skipped.to.epoch) break;  // the range does not end in this data set
      skipped_.try_emplace(sampler_.next(cursor), epoch);
    }
  }
  // Training needs at least one example.
  if (static_cast<int64_t>(skipped_.size()) == data_.size()) skipped_.clear();
}

bool Batcher::is_skipped(int64_t index, int64_t epoch) const {
  const auto found = skipped_.find(index);
  return found != skipped_.end() && found->second < epoch;
}

DataCursor Batcher::behind_skipped(DataCursor cursor) const {
  for (const SkippedData& skipped : options_.skipped) {
    if (cursor == skipped.from) cursor = skipped.to;
  }
  return cursor;
}

Batcher::Selection Batcher::collect(DataCursor cursor) {
  cursor = behind_skipped(cursor);
  Selection selection{.begin = cursor, .end = cursor, .epoch = cursor.epoch};
  // The order of several sources keeps equal texts apart already.
  const bool has_sources = sampler_.sources() != nullptr, is_apart = distinct_ && !has_sources;
  int64_t block = cursor.block;
  while (static_cast<int64_t>(selection.indices.size()) < options_.batch_size &&
         (selection.end.epoch == selection.epoch || selection.indices.empty())) {
    DataCursor end = selection.end;
    const int64_t epoch = end.epoch, index = sampler_.next(end);
    if (is_skipped(index, epoch)) {
      selection.end = end;
      continue;
    }
    if (selection.indices.empty()) {
      selection.epoch = epoch;
      block = selection.end.block;
      if (is_apart) distinct_->begin_batch();
    } else if ((is_apart || has_sources) && selection.end.block != block) {
      break;
    } else if (is_apart && !distinct_->may_join(index)) {
      break;
    }
    if (options_.token_budget > 0) {
      data_.begin(MaskingRound::of_epoch(epoch));
      const int64_t tokens = selection.tokens + data_.length(index);
      if (tokens > options_.token_budget && !selection.indices.empty()) break;
      selection.tokens = tokens;
    }
    if (is_apart) {
      distinct_->join(index);
      selection.repeating_rows += distinct_->repeats(index) ? 1 : 0;
    }
    selection.indices.push_back(index);
    selection.end = end;
  }
  selection.after = selection.end;
  return selection;
}

// Whether the end of the epoch ended the update before it was full.
bool Batcher::is_remainder(const Selection& selection) const {
  if (static_cast<int64_t>(selection.indices.size()) == options_.batch_size) return false;
  return selection.end.epoch != selection.epoch &&
         (options_.token_budget == 0 || selection.tokens < options_.token_budget);
}

Batcher::Selection Batcher::select(DataCursor cursor) {
  Selection selection = collect(cursor);
  if (!options_.drop_remainder || sampler_.sources() != nullptr) return selection;
  const bool is_first = cursor.epoch < selection.epoch || cursor == DataCursor{cursor.epoch};
  if (!is_first && is_remainder(selection)) {  // the data before it may all be skipped
    selection = collect({.epoch = selection.epoch + 1});
  }
  if (selection.end.epoch != selection.epoch) return selection;
  const Selection next = collect(selection.end);
  if (next.epoch != selection.epoch || is_remainder(next)) {
    selection.after = {.epoch = selection.epoch + 1};
  }
  return selection;
}

Batcher::EpochCount Batcher::count(int64_t epoch) {
  EpochCount counted;
  if (SourceOrder* const sources = sampler_.sources()) {
    for (; counted.updates < sources->updates(); ++counted.updates) {
      const bool is_short = std::ssize(sources->rows(epoch, counted.updates)) < options_.batch_size;
      if (is_short && !sources->ends_pass()) ++counted.short_updates;
    }
    counted.repeating_rows = sources->repeating_rows();
    return counted;
  }
  for (DataCursor cursor{.epoch = epoch}; cursor.epoch == epoch; ++counted.updates) {
    const Selection selection = select(cursor);
    const bool is_short = static_cast<int64_t>(selection.indices.size()) < options_.batch_size;
    if (is_short && selection.after.epoch == epoch) ++counted.short_updates;
    counted.repeating_rows += selection.repeating_rows;
    cursor = selection.after;
  }
  return counted;
}

// This rank's part of the examples of an update.
std::span<const int64_t> Batcher::share_of(std::span<const int64_t> indices) {
  if (options_.ranks == 1) return indices;
  std::vector<int64_t> lengths;
  for (const int64_t index : indices) lengths.push_back(data_.length(index));
  const std::vector<size_t> cuts = balanced_cuts(lengths, static_cast<size_t>(options_.ranks));
  const auto rank = static_cast<size_t>(options_.rank);
  return indices.subspan(cuts[rank], cuts[rank + 1] - cuts[rank]);
}

// Cuts examples into micro-batches. Returns where each of them begins, and the end. They have
// nearly equal numbers of examples, or of tokens.
std::vector<size_t> Batcher::cuts_of(std::span<const int64_t> indices, bool by_tokens) {
  const auto examples = static_cast<int64_t>(indices.size());
  std::vector<size_t> cuts;
  if (!by_tokens) {
    for (int64_t part = 0; part <= options_.micro_batches; ++part) {
      cuts.push_back(static_cast<size_t>(examples * part / options_.micro_batches));
    }
    return cuts;
  }
  int64_t total = 0, before = 0;
  for (const int64_t index : indices) total += data_.length(index);
  cuts.push_back(0);
  for (size_t i = 0; i < indices.size(); ++i) {
    // An example belongs to the part in which its first token falls.
    const auto part = static_cast<size_t>(before * options_.micro_batches / total);
    while (cuts.size() <= part) cuts.push_back(i);
    before += data_.length(indices[i]);
  }
  cuts.push_back(indices.size());
  return cuts;
}

// This rank's examples of each micro-batch of the update `all`. Micro-batches without examples of
// this rank are left out, unless the ranks compare what they have of them.
std::vector<std::span<const int64_t>> Batcher::parts_of(std::span<const int64_t> all) {
  const bool has_budget = options_.token_budget > 0;
  const bool compares = traits(data_.task()).rows == HeadRows::kGroups;
  const std::span<const int64_t> cut = compares ? all : share_of(all);
  const std::vector<size_t> cuts = cuts_of(cut, has_budget || (options_.ranks > 1 && !compares));
  std::vector<std::span<const int64_t>> parts;
  for (size_t part = 0; part + 1 < cuts.size(); ++part) {
    const auto examples = cut.subspan(cuts[part], cuts[part + 1] - cuts[part]);
    if (!examples.empty()) parts.push_back(compares ? share_of(examples) : examples);
  }
  return parts;
}

UpdateBatch Batcher::next(DataCursor cursor) {
  const Selection selection = select(cursor);
  data_.begin(MaskingRound::of_epoch(selection.epoch));
  const std::span<const int64_t> all = selection.indices;
  UpdateBatch update{.examples = static_cast<int64_t>(selection.indices.size()),
                     .begin = selection.begin,
                     .end = selection.end,
                     .after = selection.after};
  size_t passed = 0;  // examples, and their tokens
  uint64_t tokens = 0;
  const auto pass_to = [&](size_t example) {
    tokens += tokens_of(data_, all.subspan(passed, example - passed));
    passed = example;
  };
  for (const std::span<const int64_t> part : parts_of(all)) {
    pass_to(static_cast<size_t>(part.data() - all.data()));
    PackedBatch batch = pack(data_, part, MaskingRound::of_epoch(selection.epoch));
    if (part.empty()) {  // the ranks compute the loss of the same source together
      batch.source = data_.source_of(all.front());
      batch.sequences_per_example = static_cast<int32_t>(data_.features(all.front()).ends.size());
    }
    batch.first_token = tokens;
    batch.first_sequence = passed * static_cast<uint64_t>(batch.sequences_per_example);
    update.micro_batches.push_back(std::move(batch));
  }
  pass_to(all.size());
  update.tokens = static_cast<int64_t>(tokens);
  return update;
}

Prefetcher::Prefetcher(Batcher& batcher, DataCursor start, int64_t updates, size_t depth)
    : batcher_(batcher),
      depth_(depth),
      thread_(
          [this, start, updates](const std::stop_token& stop) { produce(stop, start, updates); }) {}

bool Prefetcher::next(UpdateBatch& update) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !waiting_.empty() || finished_; });
  if (waiting_.empty()) {
    if (failure_) std::rethrow_exception(failure_);
    return false;
  }
  update = std::move(waiting_.front());
  waiting_.pop_front();
  changed_.notify_all();
  return true;
}

void Prefetcher::produce(const std::stop_token& stop, DataCursor cursor, int64_t updates) {
  std::exception_ptr failure;
  try {
    for (int64_t i = 0; i < updates && !stop.stop_requested(); ++i) {
      UpdateBatch update = batcher_.next(cursor);
      cursor = update.after;
      std::unique_lock lock(mutex_);
      if (!changed_.wait(lock, stop, [this] { return waiting_.size() < depth_; })) break;
      waiting_.push_back(std::move(update));
      changed_.notify_all();
    }
  } catch (...) {
    failure = std::current_exception();
  }
  const std::lock_guard lock(mutex_);
  failure_ = failure;
  finished_ = true;
  changed_.notify_all();
}

}  // namespace berth
