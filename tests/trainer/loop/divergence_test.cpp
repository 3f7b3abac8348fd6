// Data that makes the loss NaN or infinite.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <limits>
#include <set>

#include "tests/support/captured_log.h"
#include "tests/support/rank_threads.h"
#include "tests/support/throws_code.h"
#include "tests/trainer/loop/tiny_job.h"
#include "trainer/data/batcher.h"
#include "trainer/loop/checkpoint_folder.h"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Stands for the death of a process that is killed.
struct Kill {};

// Gives some texts an infinite weight, so that the loss is not finite.
class PoisonedMaker final : public FeatureMaker {
 public:
  PoisonedMaker(const FeatureMaker& inner, std::set<std::string> poisoned)
      : inner_(inner), poisoned_(std::move(poisoned)) {}
  std::vector<Features> make(const Example& example) const override {
    std::vector<Features> made = inner_.make(example);
    if (poisoned_.contains(example.texts[0])) {
      made[0].weight = std::numeric_limits<float>::infinity();
    }
    return made;
  }

 private:
  const FeatureMaker& inner_;
  const std::set<std::string> poisoned_;
};

// The letters of TinyJob. The texts at these places of the first epoch's order are poisoned.
struct PoisonedData {
  explicit PoisonedData(const std::vector<int64_t>& places)
      : maker(*letters.data->maker, texts_at(places)),
        dataset(*letters.data->table, letters.all_rows(), Task::kSequenceClassification, maker,
                /*labelled=*/true) {}

  std::set<std::string> texts_at(const std::vector<int64_t>& places) const {
    Sampler sampler(letters.dataset->size(), letters.dataset->shuffled_runs(),
                    TrainingOptions{}.seed);
    std::set<std::string> texts;
    DataCursor cursor;
    for (int64_t place = 0; cursor.epoch == 0; ++place) {
      const int64_t row = sampler.next(cursor);
      if (std::ranges::find(places, place) == places.end()) continue;
      texts.insert(letters.dataset->example(row).texts[0]);
    }
    return texts;
  }

  // The number of the row at this place of the first epoch's order.
  uint64_t row_at(int64_t place) const {
    Sampler sampler(letters.dataset->size(), letters.dataset->shuffled_runs(),
                    TrainingOptions{}.seed);
    DataCursor cursor{.index = place};
    return letters.dataset->source_row(sampler.next(cursor));
  }

  LetterData letters{22};
  PoisonedMaker maker;
  Dataset dataset;
};

SkippedData update_at(int64_t place) {
  return {.from = {.index = place}, .to = {.index = place + 4}};
}

class DivergenceTest : public testing::Test {
 protected:
  DivergenceTest() {
    options_.max_steps = 4;
    options_.save_steps = 2;
  }

  std::unique_ptr<TinyJob> make_job(PoisonedData& data, const ScratchDirectory& scratch) {
    auto job = std::make_unique<TinyJob>(options_, scratch / "job", *storage_, false);
    job->train_data = &data.dataset;
    return job;
  }
  // The result of a run that skips this data from the beginning.
  Learned without(const std::vector<SkippedData>& skipped) {
    const ScratchDirectory scratch;
    TinyJob job(options_, scratch / "job", *storage_, false);
    job.begin.skipped = skipped;
    job.run();
    return job.tiny.learned();
  }

  std::unique_ptr<Storage> storage_ = make_local_storage();
  TrainingOptions options_ = tiny_options();
};

TEST_F(DivergenceTest, ABadUpdateIsLeftOutAndRecorded) {
  PoisonedData data({9});
  const ScratchDirectory scratch;
  const auto job = make_job(data, scratch);
  const CapturedLog log;
  const TrainResult result = job->run();
  EXPECT_EQ(result.state.step, 4);
  EXPECT_THAT(result.state.skipped, ElementsAre(update_at(8)));
  EXPECT_EQ(result.state.cursor, (DataCursor{.index = 20}));
  EXPECT_EQ(result.state.examples, 16);
  EXPECT_THAT(log.warnings(), HasSubstr("at step 3 the loss is "));
  EXPECT_THAT(log.warnings(),
              HasSubstr("without the 4 examples of this update (1 of at most 2 times; rows "));
  EXPECT_THAT(job->observer.checkpoints, ElementsAre(2, 4));
  EXPECT_EQ(job->tiny.learned(), without({update_at(8)}));
  EXPECT_THAT(read_text(scratch / "job/step-00000004/state.json"), HasSubstr("skipped"));
}

TEST_F(DivergenceTest, WithoutACheckpointItGoesBackToTheStart) {
  options_.save_steps = 0;
  PoisonedData data({1, 6});  // the first two updates
  const ScratchDirectory scratch;
  const auto job = make_job(data, scratch);
  const std::vector<SkippedData> skipped = {update_at(0), update_at(4)};
  EXPECT_EQ(job->run().state.skipped, skipped);
  EXPECT_EQ(job->tiny.learned(), without(skipped));
}

TEST_F(DivergenceTest, TheThirdBadUpdateEndsTheJob) {
  PoisonedData data({1, 9, 17});
  const ScratchDirectory scratch;
  const auto job = make_job(data, scratch);
  const CapturedLog log;
  std::set<uint64_t> rows;
  for (const int64_t place : {0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19}) {
    rows.insert(data.row_at(place));
  }
  std::string all;
  for (const uint64_t row : rows) all += (all.empty() ? "" : ", ") + std::to_string(row);
  EXPECT_THAT([&] { job->run(); }, ThrowsCode(Code::kDiverged, "at step 3 the loss is "));
  const auto again = make_job(data, scratch);
  EXPECT_THAT([&] { again->run(); }, ThrowsCode(Code::kDiverged, "these rows (" + all + ")"));
  EXPECT_THAT(log.warnings(), HasSubstr("times; rows "));
  EXPECT_THAT(job->observer.checkpoints, ElementsAre(2));
}

TEST_F(DivergenceTest, ItEndsWithTheSameBitsWhereverItIsStopped) {
  PoisonedData data({5, 9});
  const std::vector<SkippedData> skipped = {update_at(4), update_at(8)};
  const Learned expected = without(skipped);
  for (int64_t k = 1; k < 4; ++k) {
    for (const bool killed : {false, true}) {
      const ScratchDirectory scratch;
      const auto job = make_job(data, scratch);
      job->observer.when_step = [&](int64_t step) {
        if (step == k && killed) throw Kill{};
        job->stop = step == k;
      };
      EXPECT_ANY_THROW(job->run());
      const auto again = make_job(data, scratch);
      EXPECT_EQ(again->run().state.skipped, skipped) << k << killed;
      EXPECT_EQ(again->tiny.learned(), expected) << k << killed;
    }
  }
}

// Two ranks, each a thread, of which each keeps a share of the moments. Returns what rank 0 learns.
Learned learned_by_two(const TrainingOptions& given, Storage& storage,
                       const std::function<void(TinyJob&)>& prepare) {
  const ScratchDirectory scratch;
  Learned learned;
  run_ranks(2, [&](Communicator& ranks) {
    TrainingOptions options = given;
    options.place = {.rank = ranks.rank(), .size = 2};
    options.keeps_weights = ranks.rank() == 0;
    options.shard_optimizer = true;
    TinyJob job(options, scratch / (ranks.rank() == 0 ? "job" : "unused"), storage,
                /*evaluates=*/false, Saving::kBesideTraining, &ranks);
    prepare(job);
    job.run();
    if (ranks.rank() == 0) learned = job.tiny.learned();
    any_rank(ranks, false);  // rank 0 has read
  });
  return learned;
}

TEST_F(DivergenceTest, RanksThatShareTheOptimizerGoBackTogether) {
  // The second update, before the first checkpoint, and one after it.
  PoisonedData data[] = {PoisonedData({5, 13}), PoisonedData({5, 13})};
  std::atomic<size_t> next = 0;
  const Learned learned = learned_by_two(
      options_, *storage_, [&](TinyJob& job) { job.train_data = &data[next++].dataset; });
  const Learned expected = learned_by_two(options_, *storage_, [](TinyJob& job) {
    job.begin.skipped = {update_at(4), update_at(12)};
  });
  EXPECT_EQ(learned, expected);
}

TEST_F(DivergenceTest, RanksThatShareTheOptimizerEndTogether) {
  PoisonedData data[] = {PoisonedData({1, 9, 17}), PoisonedData({1, 9, 17})};
  std::atomic<size_t> next = 0;
  EXPECT_THAT(
      [&] {
        learned_by_two(options_, *storage_,
                       [&](TinyJob& job) { job.train_data = &data[next++].dataset; });
      },
      ThrowsCode(Code::kDiverged, "at step 3 the loss is "));
}

}  // namespace
}  // namespace berth
