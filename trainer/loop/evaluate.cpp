#include "trainer/loop/evaluate.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <future>
#include <numeric>
#include <string>
#include <vector>

#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "trainer/data/batcher.h"
#include "trainer/loop/training_state.h"
#include "trainer/metrics/metrics.h"
#include "trainer/tasks/reranking.h"

namespace berth {
namespace {

// Where the rows of logits of each of the examples `indices` begin [B+1]: it has one row, or one
// for each token or each masked token, or one of its own before the rows of masked tokens.
std::vector<size_t> first_rows(const PackedBatch& batch, Dataset& data,
                               std::span<const int64_t> indices) {
  std::vector<size_t> first;
  const HeadRows rows = traits(data.task()).rows;
  const bool is_of_tokens =
      rows == HeadRows::kTokens || rows == HeadRows::kReplaced || rows == HeadRows::kStates;
  const auto* const masked = std::get_if<PackedBatch::MaskedTokens>(&batch.labels);
  int32_t token = 0;
  for (size_t b = 0; b <= indices.size(); ++b) {
    if (b > 0) token += static_cast<int32_t>(data.length(indices[b - 1]));
    if (masked != nullptr && !is_of_tokens) {
      const auto found = std::ranges::lower_bound(masked->tokens, token);
      const size_t of_sequences = rows == HeadRows::kMaskedAndFirst ? b : 0;
      first.push_back(static_cast<size_t>(found - masked->tokens.begin()) + of_sequences);
    } else {
      first.push_back(is_of_tokens ? static_cast<size_t>(token) : b);
    }
  }
  return first;
}

// A batch, and which examples are in it.
struct NumberedBatch {
  std::vector<int64_t> indices{};
  PackedBatch batch{};
};

// The examples from `begin` on; none behind the last one.
NumberedBatch batch_from(Dataset& data, int64_t begin, int64_t batch_size) {
  NumberedBatch made;
  const int64_t count = std::clamp<int64_t>(data.size() - begin, 0, batch_size);
  if (count == 0) return made;
  made.indices.resize(static_cast<size_t>(count));
  std::iota(made.indices.begin(), made.indices.end(), begin);
  made.batch = pack(data, made.indices);
  return made;
}

// Calls `logits` for each example with its part of the logits.
void hand_out(const std::vector<float>& all, const PackedBatch& batch, Dataset& data,
              std::span<const int64_t> indices, const LogitsCallback& logits) {
  const std::vector<size_t> first = first_rows(batch, data, indices);
  const size_t width = first.back() > 0 ? all.size() / first.back() : 0;
  for (size_t i = 0; i < indices.size(); ++i) {
    logits(indices[i], std::span(all).subspan(first[i] * width, (first[i + 1] - first[i]) * width));
  }
}

// Every batch is summed for itself, so that the sum does not depend on the number of ranks.
void add(LossSum& sum, const LossSum& batch) {
  sum.loss += batch.loss;
  sum.weight += batch.weight;
  sum.second_loss += batch.second_loss;
  sum.second_weight += batch.second_weight;
}

double mean_of(const LossSum& loss) {
  return mean_loss(loss.loss, loss.weight) + mean_loss(loss.second_loss, loss.second_weight);
}

// Computes a batch as Engine::infer() does.
using Infer = std::function<std::vector<float>(PackedBatch& batch, LossSum& loss)>;

// The cosines of the two texts of each row, by their embeddings and by the first numbers of these,
// for each of `shorter_sizes`. Adds the squared errors of the first ones to `loss`.
std::vector<float> compare_pairs(Engine& engine, PackedBatch& batch,
                                 std::span<const int64_t> shorter_sizes, LossSum& loss) {
  const auto targets = std::move(std::get<PackedBatch::Scores>(batch.labels).values);
  const std::vector<float> weights = std::move(batch.weights);
  batch.labels = {};
  batch.weights.clear();
  batch.sequences_per_example = 1;
  LossSum none;
  const std::vector<float> embeddings = engine.infer(batch, none);
  const size_t width = embeddings.size() / (2 * targets.size());
  const auto cosine = [&](size_t row, size_t size) {
    const float* const u = &embeddings[2 * row * width];
    const float* const v = u + width;
    double dot = 0, of_u = 0, of_v = 0;
    for (size_t i = 0; i < size; ++i) {
      dot += double{u[i]} * double{v[i]};
      of_u += double{u[i]} * double{u[i]};
      of_v += double{v[i]} * double{v[i]};
    }
    constexpr double kLeast = 1e-8;  // as torch.cosine_similarity
    return dot / (std::max(std::sqrt(of_u), kLeast) * std::max(std::sqrt(of_v), kLeast));
  };
  std::vector<float> logits;
  for (size_t row = 0; row < targets.size(); ++row) {
    const double whole = cosine(row, width), error = whole - double{targets[row]};
    const double weight = weights.empty() ? 1 : double{weights[row]};
    loss.loss += weight * error * error;
    loss.weight += weight;
    logits.push_back(static_cast<float>(whole));
    for (const int64_t size : shorter_sizes) {
      logits.push_back(static_cast<float>(cosine(row, static_cast<size_t>(size))));
    }
  }
  batch.sequences_per_example = 2;
  return logits;
}

// The batches of a data set in rounds. In a round, each rank computes `share` neighbouring batches
// before all of them exchange their results. Rank r computes the batches from r * share on.
class Rounds {
 public:
  Rounds(Dataset& data, int64_t batch_size, int64_t share, int ranks)
      : data_(data), batch_size_(batch_size), batches_(share * ranks) {}

  // All ranks make the batches of all, which takes little time, so that each can hand out the
  // logits of the others. The last round has fewer, and there is none behind it.
  std::vector<NumberedBatch> next() {
    std::vector<NumberedBatch> round;
    for (; std::ssize(round) < batches_ && begin_ < data_.size(); begin_ += batch_size_) {
      round.push_back(batch_from(data_, begin_, batch_size_));
      round.back().batch.first_token = tokens_;
      tokens_ += static_cast<uint64_t>(round.back().batch.num_tokens());
    }
    return round;
  }

 private:
  Dataset& data_;
  int64_t batch_size_, batches_;
  int64_t begin_ = 0;
  uint64_t tokens_ = 0;  // before `begin_`
};

// What a rank computed of one batch.
struct Computed {
  LossSum loss{};
  std::vector<float> logits{};
};

// Exchanges the results of every rank's batches, at most `share` for each rank. Returns all
// results, in the order of the batches, or nullopt if a rank was stopped.
std::optional<std::vector<Computed>> exchange(Communicator& ranks, size_t share,
                                              std::span<const Computed> own, bool is_stopped) {
  constexpr size_t kFields = 5;
  std::vector<double> numbers(1 + share * kFields);
  numbers[0] = is_stopped ? 1 : 0;
  std::vector<float> logits;
  for (size_t b = 0; b < own.size(); ++b) {
    const LossSum& loss = own[b].loss;
    const std::array<double, kFields> fields = {loss.loss, loss.weight, loss.second_loss,
                                                loss.second_weight,
                                                static_cast<double>(own[b].logits.size())};
    std::ranges::copy(fields, numbers.begin() + static_cast<ptrdiff_t>(1 + b * kFields));
    logits.insert(logits.end(), own[b].logits.begin(), own[b].logits.end());
  }
  const std::vector<std::vector<double>> all_numbers = gather_values(ranks, numbers);
  const std::vector<std::vector<std::byte>> all_logits =
      gather_bytes(ranks, std::as_bytes(std::span(logits)));
  std::vector<Computed> all;
  for (size_t r = 0; r < all_numbers.size(); ++r) {
    if (all_numbers[r][0] != 0) return std::nullopt;
    std::span<const std::byte> rest = all_logits[r];
    for (size_t b = 0; b < share; ++b) {
      const double* const fields = &all_numbers[r][1 + b * kFields];
      Computed& computed = all.emplace_back();
      computed.loss = {.loss = fields[0],
                       .weight = fields[1],
                       .second_loss = fields[2],
                       .second_weight = fields[3]};
      computed.logits.resize(static_cast<size_t>(fields[4]));
      const std::span<std::byte> bytes = std::as_writable_bytes(std::span(computed.logits));
      std::ranges::copy(rest.first(bytes.size()), bytes.begin());
      rest = rest.subspan(bytes.size());
    }
  }
  return all;
}

// run() of several ranks.
std::optional<double> run_rounds(const Infer& infer, Dataset& data, int64_t batch_size,
                                 const std::atomic<bool>& stop, const LogitsCallback& logits,
                                 Communicator& ranks) {
  // Lengths differ, so that ranks wait for each other less when each has many rows. A stop waits
  // for the end of a round.
  constexpr int64_t kRows = 64;
  const int64_t share = std::max<int64_t>(1, kRows / batch_size);
  Rounds rounds(data, batch_size, share, ranks.size());
  LossSum sum;
  for (std::vector<NumberedBatch> round = rounds.next(); !round.empty();) {
    // While the engine computes, another thread makes the next round. Nothing else uses the data.
    std::future<std::vector<NumberedBatch>> next =
        std::async(std::launch::async, [&] { return rounds.next(); });
    std::vector<Computed> own;
    const size_t begin = static_cast<size_t>(ranks.rank() * share);
    const size_t end = std::min(begin + static_cast<size_t>(share), round.size());
    for (size_t b = begin; b < end && !stop; ++b) {
      Computed& computed = own.emplace_back();
      computed.logits = infer(round[b].batch, computed.loss);
    }
    next.wait();
    const auto all = exchange(ranks, static_cast<size_t>(share), own, stop);
    if (!all) return std::nullopt;
    for (size_t b = 0; b < round.size(); ++b) {
      add(sum, (*all)[b].loss);
      hand_out((*all)[b].logits, round[b].batch, data, round[b].indices, logits);
    }
    round = next.get();
  }
  return mean_of(sum);
}

// run_forward() by this function.
std::optional<double> run(const Infer& infer, Dataset& data, int64_t batch_size,
                          const std::atomic<bool>& stop, const LogitsCallback& logits,
                          Communicator* ranks) {
  if (ranks != nullptr) return run_rounds(infer, data, batch_size, stop, logits, *ranks);
  LossSum sum;
  uint64_t tokens = 0;  // before the batch, in the whole data set
  NumberedBatch now = batch_from(data, 0, batch_size);
  for (int64_t begin = 0; !now.indices.empty(); begin += batch_size) {
    if (stop) return std::nullopt;
    now.batch.first_token = tokens;
    tokens += static_cast<uint64_t>(now.batch.num_tokens());
    // While the engine computes, another thread makes the next batch. Nothing else uses the data.
    std::future<NumberedBatch> next = std::async(
        std::launch::async, [&] { return batch_from(data, begin + batch_size, batch_size); });
    LossSum loss;
    const std::vector<float> all = infer(now.batch, loss);
    add(sum, loss);
    next.wait();
    hand_out(all, now.batch, data, now.indices, logits);
    now = next.get();
  }
  return mean_of(sum);
}

}  // namespace

std::optional<double> run_forward(Engine& engine, Dataset& data, int64_t batch_size,
                                  const std::atomic<bool>& stop, const LogitsCallback& logits,
                                  Communicator* ranks) {
  const auto infer = [&](PackedBatch& batch, LossSum& loss) { return engine.infer(batch, loss); };
  return run(infer, data, batch_size, stop, logits, ranks);
}

std::optional<EvaluationResult> evaluate(Engine& engine, Dataset& data, int64_t batch_size,
                                         const ReadingOptions& reading, Observer& observer,
                                         const std::atomic<bool>& stop, Communicator* ranks) {
  const auto start = std::chrono::steady_clock::now();
  const std::unique_ptr<Evaluator> evaluator = make_evaluator(data, reading.labels, reading.rules);
  const Infer infer = [&](PackedBatch& batch, LossSum& sum) {
    return reading.scores_pairs ? compare_pairs(engine, batch, reading.rules.shorter_sizes, sum)
                                : engine.infer(batch, sum);
  };
  const std::optional<double> loss = run(
      infer, data, batch_size, stop,
      [&](int64_t index, std::span<const float> logits) {
        evaluator->add(index, logits);
        observer.on(Evaluating{.done = index + 1, .total = data.size()});
      },
      ranks);
  if (!loss) return std::nullopt;
  EvaluationResult result{.examples = data.rows(), .loss = *loss, .scores = evaluator->finish()};
  if (traits(data.task()).loss == LossKind::kInBatchNegatives) {
    result.scores.note = cat("within a batch of ", std::min(batch_size, data.size()));
  }
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  result.seconds = elapsed.count();
  return result;
}

void require_finite(const Dataset& data, int64_t index, std::span<const float> logits) {
  if (std::ranges::all_of(logits, [](float logit) { return std::isfinite(logit); })) return;
  throw Error(Code::kBadData, "the model computes a number that is not finite",
              cat("row ", data.source_row(index)),
              "its parameters may be damaged, or come from a job that diverged");
}

namespace {

// run_forward() over rows whose passages are ranked. Calls `write` for each row, in order, with its
// score and its rank.
bool run_ranking(Engine& engine, Dataset& data, int64_t batch_size, ScoreForm form,
                 const std::atomic<bool>& stop, const LogitsCallback& write, Communicator* ranks) {
  std::vector<float> scores;
  const auto keep = [&](int64_t index, std::span<const float> logits) {
    require_finite(data, index, logits);
    scores.push_back(form == ScoreForm::kLogit ? logits[0]
                                               : static_cast<float>(sigmoid(logits[0])));
  };
  if (!run_forward(engine, data, batch_size, stop, keep, ranks)) return false;
  const std::vector<float> places = ranks_in_lists(data, scores);
  for (size_t i = 0; i < scores.size(); ++i) {
    write(static_cast<int64_t>(i), std::array{scores[i], places[i]});
  }
  return true;
}

}  // namespace

bool write_predictions(Engine& engine, Dataset& data, int64_t batch_size,
                       std::span<const PredictionFile> files, Observer& observer,
                       const std::atomic<bool>& stop, Communicator* ranks, ScoreForm form) {
  for (const PredictionFile& file : files) file.sink.write(as_bytes(file.lines.header()));
  const auto write = [&](int64_t index, std::span<const float> logits) {
    require_finite(data, index, logits);
    for (const PredictionFile& file : files) {
      file.sink.write(as_bytes(file.lines.add(index, logits)));
    }
    observer.on(Evaluating{.done = index + 1, .total = data.size()});
  };
  const bool finished = ranks_passages(data.task())
                            ? run_ranking(engine, data, batch_size, form, stop, write, ranks)
                            : run_forward(engine, data, batch_size, stop, write, ranks).has_value();
  for (const PredictionFile& file : files) {
    if (const int64_t unseen = file.lines.unseen_words(); finished && unseen > 0) {
      log_warning(cat(unseen,
                      " words were not seen by the model and have probability 0: they are beyond ",
                      "--max-seq-length or have no token"));
    }
    if (const int64_t empty = file.lines.empty_rows(); finished && empty > 0) {
      log_warning(cat(counted(empty, "row"), empty == 1 ? " has" : " have",
                      " no text, so the prediction is empty there"));
    }
  }
  return finished;
}

void scale_to_one(std::span<float> vector) {
  constexpr double kLeast = 1e-12;
  double squares = 0;
  for (const float value : vector) squares += double{value} * double{value};
  const double scale = 1 / std::max(kLeast, std::sqrt(squares));
  for (float& value : vector) value = static_cast<float>(scale * double{value});
}

EvaluationReport report_of(const EvaluationResult& evaluation) {
  return {.examples = evaluation.examples,
          .loss = evaluation.loss,
          .seconds = evaluation.seconds,
          .metrics = evaluation.scores.metrics,
          .majority_rate = evaluation.scores.majority_rate,
          .scores = &evaluation.scores,
          .has_loss = evaluation.has_loss};
}

bool write_embeddings(Engine& engine, Dataset& data, int64_t batch_size, const EmbeddingForm& form,
                      VectorWriter* writer, Observer& observer, const std::atomic<bool>& stop,
                      Communicator* ranks) {
  std::vector<float> embedding;
  const auto write = [&](int64_t index, std::span<const float> logits) {
    require_finite(data, index, logits);
    if (writer != nullptr) {
      embedding.assign(logits.begin(), logits.end());
      if (form.normalizes) scale_to_one(embedding);
      embedding.resize(std::min(embedding.size(), form.width));
      if (form.normalizes_after) scale_to_one(embedding);
      form.code.apply(embedding);
      const std::string id = data.id(index);
      writer->add({.number = data.source_row(index), .id = id, .vector = embedding});
    }
    observer.on(Evaluating{.done = index + 1, .total = data.size()});
  };
  if (!run_forward(engine, data, batch_size, stop, write, ranks)) return false;
  if (writer != nullptr) writer->finish();
  return true;
}

}  // namespace berth
