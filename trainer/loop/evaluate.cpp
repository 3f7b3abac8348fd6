#include "trainer/loop/evaluate.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <future>
#include <numeric>

#include "trainer/data/batcher.h"
#include "trainer/loop/training_state.h"

namespace berth {
namespace {

// Where the rows of logits of each example begin [B+1]: it has one row, or one for each token or
// each masked token.
std::vector<size_t> first_rows(const PackedBatch& batch, Task task) {
  std::vector<size_t> first;
  const HeadRows rows = traits(task).rows;
  const bool is_of_tokens =
      rows == HeadRows::kTokens || rows == HeadRows::kReplaced || rows == HeadRows::kStates;
  const auto* const masked = std::get_if<PackedBatch::MaskedTokens>(&batch.labels);
  for (size_t b = 0; b <= static_cast<size_t>(batch.num_examples()); ++b) {
    const int32_t token = batch.cu_seqlens[b];
    if (masked != nullptr && !is_of_tokens) {
      const auto found = std::ranges::lower_bound(masked->tokens, token);
      first.push_back(static_cast<size_t>(found - masked->tokens.begin()));
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
void hand_out(const std::vector<float>& all, const PackedBatch& batch, Task task,
              std::span<const int64_t> indices, const LogitsCallback& logits) {
  const std::vector<size_t> first = first_rows(batch, task);
  const size_t width = first.back() > 0 ? all.size() / first.back() : 0;
  for (size_t i = 0; i < indices.size(); ++i) {
    logits(indices[i], std::span(all).subspan(first[i] * width, (first[i + 1] - first[i]) * width));
  }
}

double mean_of(const LossSum& loss) {
  return mean_loss(loss.loss, loss.weight) + mean_loss(loss.second_loss, loss.second_weight);
}

// What a rank tells the others of its batch in a round.
struct Told {
  LossSum loss{};
  bool is_stopped = false;
  std::vector<float> logits{};
};

// Exchanges what every rank tells. The sizes of their logits may differ.
std::vector<Told> exchange(Communicator& ranks, const Told& own) {
  const std::array<double, 5> sums = {own.loss.loss, own.loss.weight, own.loss.second_loss,
                                      own.loss.second_weight, own.is_stopped ? 1.0 : 0.0};
  const std::vector<std::vector<double>> all_sums = gather_values(ranks, sums);
  const std::vector<std::vector<std::byte>> all_logits =
      gather_bytes(ranks, std::as_bytes(std::span(own.logits)));
  std::vector<Told> told(all_sums.size());
  for (size_t r = 0; r < told.size(); ++r) {
    const std::vector<double>& of_rank = all_sums[r];
    told[r].loss = {.loss = of_rank[0],
                    .weight = of_rank[1],
                    .second_loss = of_rank[2],
                    .second_weight = of_rank[3]};
    told[r].is_stopped = of_rank[4] != 0;
    told[r].logits.resize(all_logits[r].size() / sizeof(float));
    std::ranges::copy(all_logits[r], std::as_writable_bytes(std::span(told[r].logits)).begin());
  }
  return told;
}

// run_forward() of several ranks, in rounds in which each computes one batch. All of them pack all
// batches, which takes little time, so that each can hand out the logits of the others.
std::optional<double> run_rounds(Engine& engine, Dataset& data, int64_t batch_size,
                                 const std::atomic<bool>& stop, const LogitsCallback& logits,
                                 Communicator& ranks) {
  LossSum sum;
  uint64_t tokens = 0;
  for (int64_t begin = 0; begin < data.size(); begin += batch_size * ranks.size()) {
    std::vector<NumberedBatch> round;
    for (int rank = 0; rank < ranks.size(); ++rank) {
      round.push_back(batch_from(data, begin + rank * batch_size, batch_size));
      round.back().batch.first_token = tokens;
      tokens += static_cast<uint64_t>(round.back().batch.num_tokens());
    }
    Told own{.is_stopped = stop};
    const NumberedBatch& mine = round[static_cast<size_t>(ranks.rank())];
    if (!mine.indices.empty() && !own.is_stopped) {
      own.logits = engine.infer(mine.batch, own.loss);
    }
    const std::vector<Told> told = exchange(ranks, own);
    if (std::ranges::any_of(told, &Told::is_stopped)) return std::nullopt;
    for (size_t r = 0; r < told.size(); ++r) {
      if (round[r].indices.empty()) continue;
      sum.loss += told[r].loss.loss;
      sum.weight += told[r].loss.weight;
      sum.second_loss += told[r].loss.second_loss;
      sum.second_weight += told[r].loss.second_weight;
      hand_out(told[r].logits, round[r].batch, data.task(), round[r].indices, logits);
    }
  }
  return mean_of(sum);
}

}  // namespace

std::optional<double> run_forward(Engine& engine, Dataset& data, int64_t batch_size,
                                  const std::atomic<bool>& stop, const LogitsCallback& logits,
                                  Communicator* ranks) {
  if (ranks != nullptr) return run_rounds(engine, data, batch_size, stop, logits, *ranks);
  LossSum loss;
  uint64_t tokens = 0;  // before the batch, in the whole data set
  NumberedBatch now = batch_from(data, 0, batch_size);
  for (int64_t begin = 0; !now.indices.empty(); begin += batch_size) {
    if (stop) return std::nullopt;
    now.batch.first_token = tokens;
    tokens += static_cast<uint64_t>(now.batch.num_tokens());
    // While the engine computes, another thread makes the next batch. Nothing else uses the data.
    std::future<NumberedBatch> next = std::async(
        std::launch::async, [&] { return batch_from(data, begin + batch_size, batch_size); });
    const std::vector<float> all = engine.infer(now.batch, loss);
    next.wait();
    hand_out(all, now.batch, data.task(), now.indices, logits);
    now = next.get();
  }
  return mean_of(loss);
}

std::optional<EvaluationResult> evaluate(Engine& engine, Dataset& data, int64_t batch_size,
                                         const ReadingOptions& reading, Observer& observer,
                                         const std::atomic<bool>& stop, Communicator* ranks) {
  const auto start = std::chrono::steady_clock::now();
  const std::unique_ptr<Evaluator> evaluator =
      make_evaluator(data, reading.labels, reading.answers);
  const std::optional<double> loss = run_forward(
      engine, data, batch_size, stop,
      [&](int64_t index, std::span<const float> logits) {
        evaluator->add(index, logits);
        observer.on_evaluating(index + 1, data.size());
      },
      ranks);
  if (!loss) return std::nullopt;
  EvaluationResult result{.examples = data.rows(), .loss = *loss, .scores = evaluator->finish()};
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  result.seconds = elapsed.count();
  return result;
}

}  // namespace berth
