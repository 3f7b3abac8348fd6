#include "trainer/loop/evaluate_retrieval.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "storage/base/text.h"
#include "storage/local_storage.h"
#include "tests/support/letter_tokenizer.h"
#include "tests/support/rank_threads.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/throws_code.h"
#include "tests/trainer/loop/fake_engine.h"

namespace berth {
namespace {

namespace fs = std::filesystem;
using testing::IsEmpty;
using testing::SizeIs;

// Its embeddings count the letters of a text.
class CountingEngine final : public Engine {
 public:
  const EngineInfo& info() const override { return fake_.info(); }
  ParameterTensors& tensors(StateTensors which) override { return fake_.tensors(which); }
  void tensors_written() override {}
  void clear_moments() override {}
  bool start_update(std::span<const PackedBatch>, const UpdateInputs&,
                    const std::atomic<bool>&) override {
    return false;
  }
  UpdateOutcome collect_update() override { return {}; }
  std::vector<float> infer(const PackedBatch& batch, LossSum&) override {
    texts += batch.num_sequences();
    most_tokens = std::max(most_tokens, batch.num_tokens());
    most_texts = std::max(most_texts, batch.num_sequences());
    std::vector<float> counts(static_cast<size_t>(29 * batch.num_sequences()));
    for (size_t b = 0; b + 1 < batch.cu_seqlens.size(); ++b) {
      for (int32_t t = batch.cu_seqlens[b]; t < batch.cu_seqlens[b + 1]; ++t) {
        const auto token = static_cast<size_t>(t);
        EXPECT_EQ(batch.position_ids[token], t - batch.cu_seqlens[b]);
        counts[29 * b + static_cast<size_t>(batch.input_ids[token])] += 1;
      }
    }
    if (is_broken) counts[0] = std::numeric_limits<float>::quiet_NaN();
    return counts;
  }

  int64_t most_tokens = 0, most_texts = 0, texts = 0;
  bool is_broken = false;

 private:
  FakeEngine fake_;
};

class EvaluateRetrievalTest : public testing::Test {
 protected:
  EvaluateRetrievalTest() {
    fs::create_directories(scratch_ / "qrels");
    write_text(scratch_ / "corpus.csv", "_id,text\nd1,aaaa\nd2,bbb\nd3,cc\nd4,ab\n");
    write_text(scratch_ / "queries.csv", "_id,text\nq1,aa\nq2,c\nq3,b\n");
    write_text(scratch_ / "qrels/test.csv",
               "query-id,corpus-id,score\nq1,d1,1\nq2,d3,1\nq3,d4,1\n");
  }
  void load() {
    set_ = load_retrieval_set(*storage_, {.path = scratch_.path().string(), .split = "test"});
  }
  RetrievalReading reading() const {
    return {.tokenizer = tokenizer_,
            .max_seq_length = 16,
            .prompts = prompts_,
            .limits = {.tokens = 16, .sequences = 2},
            .threads = 2};
  }
  std::optional<EvaluationResult> run() {
    load();
    return evaluate_retrieval(engine_, *set_, reading(), observer_, stop_);
  }

  ScratchDirectory scratch_;
  const std::unique_ptr<Storage> storage_ = make_local_storage();
  std::unique_ptr<RetrievalSet> set_;
  LetterTokenizer tokenizer_;
  SearchPrompts prompts_;
  CountingEngine engine_;
  Observer observer_;
  std::atomic<bool> stop_ = false;
};

TEST_F(EvaluateRetrievalTest, ScoresWhatTheEmbeddingsFind) {
  const auto result = run();
  ASSERT_TRUE(result);
  EXPECT_EQ(result->examples, 3);
  EXPECT_FALSE(result->has_loss);
  EXPECT_EQ(result->scores.note, "of 3 queries in 4 passages");
  EXPECT_NEAR(result->scores.metrics.at("accuracy_at_1"), 2.0 / 3, 1e-12);
  EXPECT_EQ(result->scores.metrics.at("recall_at_3"), 1);
  EXPECT_LE(engine_.most_tokens, 16);
  EXPECT_EQ(engine_.most_texts, 2);
  const std::vector<MissedQuery>& missed = result->scores.details.missed;
  ASSERT_THAT(missed, SizeIs(1));
  EXPECT_EQ(missed[0].id, "q3");
  EXPECT_EQ(missed[0].query, "b");
  EXPECT_EQ(missed[0].wanted, "ab");
  EXPECT_EQ(missed[0].first_id, "d2");
  EXPECT_EQ(missed[0].rank, 2);
}

TEST_F(EvaluateRetrievalTest, PromptsStandBeforeTheTexts) {
  prompts_ = {.query = "aaaaaaaaaaaa", .passage = ""};
  const auto result = run();
  EXPECT_NEAR(result->scores.metrics.at("accuracy_at_1"), 1.0 / 3, 1e-12)
      << "every query finds the letters of its prompt";
}

TEST_F(EvaluateRetrievalTest, SeveralRanksFindTheSame) {
  // More passages than a block has, so that each rank has some.
  std::string corpus = "_id,text\n";
  for (int i = 0; i < 5000; ++i) {
    corpus += cat("d", i, ",", std::string(static_cast<size_t>(1 + i % 7), 'a'), "b",
                  std::string(static_cast<size_t>(i % 5), 'c'), "\n");
  }
  write_text(scratch_ / "corpus.csv", corpus);
  load();
  const auto alone = evaluate_retrieval(engine_, *set_, reading(), observer_, stop_);
  for (const int size : {2, 3}) {
    std::atomic<int> equal = 0;
    run_ranks(size, [&](Communicator& ranks) {
      CountingEngine engine;
      Observer observer;
      const auto result = evaluate_retrieval(engine, *set_, reading(), observer, stop_, &ranks);
      equal += result && result->scores.metrics == alone->scores.metrics ? 1 : 0;
    });
    EXPECT_EQ(equal, size);
  }
}

TEST_F(EvaluateRetrievalTest, SavedVectorsAreNotComputedAgain) {
  std::string corpus = "_id,text\n";
  for (int i = 0; i < 5000; ++i)
    corpus += cat("d", i, ",", std::string(static_cast<size_t>(1 + i % 9), 'a'), "b\n");
  write_text(scratch_ / "corpus.csv", corpus);
  load();
  RetrievalReading kept = reading();
  const auto found = [&](const std::string& identity, int64_t& computed) {
    SavedVectors saved(*storage_, Uri::parse(scratch_ / "vectors"), identity);
    kept.saved = &saved;
    engine_.texts = 0;
    const auto result = search_passages(engine_, *set_, kept, 3, observer_, stop_);
    computed = engine_.texts;
    std::vector<std::pair<uint32_t, float>> all;
    for (const std::vector<FoundDocument>& ranking : result->rankings) {
      for (const FoundDocument& each : ranking) all.emplace_back(each.document, each.score);
    }
    return all;
  };
  int64_t computed = 0;
  const auto first = found("model", computed);
  EXPECT_EQ(computed, 3 + 5000);
  EXPECT_EQ(found("model", computed), first);
  EXPECT_EQ(computed, 0);
  // A file that is absent or damaged is made again, and the files of another model are.
  fs::remove(scratch_ / "vectors/passages-2048.safetensors");
  EXPECT_EQ(found("model", computed), first);
  EXPECT_EQ(computed, 2048);
  {
    std::fstream file(scratch_ / "vectors/queries.safetensors", std::ios::in | std::ios::out);
    file.seekp(-2, std::ios::end);
    file.put('x');
  }
  EXPECT_EQ(found("model", computed), first);
  EXPECT_EQ(computed, 3);
  EXPECT_EQ(found("other", computed), first);
  EXPECT_EQ(computed, 3 + 5000);
  // Other texts of the same number have other vectors. Only one block has changed.
  write_text(scratch_ / "corpus.csv", corpus.replace(corpus.rfind("ab"), 2, "cb"));
  load();
  found("other", computed);
  EXPECT_EQ(computed, 5000 - 2 * 2048);
  SavedVectors(*storage_, Uri::parse(scratch_ / "vectors"), "model").remove();
  EXPECT_FALSE(fs::exists(scratch_ / "vectors"));
}

TEST_F(EvaluateRetrievalTest, StopIsHeeded) {
  stop_ = true;
  EXPECT_FALSE(run());
}

TEST_F(EvaluateRetrievalTest, NumbersThatAreNotFiniteNameTheText) {
  engine_.is_broken = true;
  EXPECT_THAT([&] { run(); }, ThrowsCode(Code::kBadData, "query \"q"));
}

TEST(WithRetrieval, MetricsOfTheSetOutrankThoseOfRows) {
  EvaluationResult rows{.examples = 9, .loss = 2, .seconds = 1}, search{.seconds = 2};
  rows.scores.metrics = {{"accuracy_at_1", 1}, {"spearman_cosine", 0.5}};
  rows.scores.note = "within a batch of 8";
  search.scores.metrics = {{"accuracy_at_1", 0.25}, {"ndcg_at_10", 0.5}};
  search.scores.note = "of 3 queries in 4 passages";
  search.has_loss = false;
  const EvaluationResult both = with_retrieval(rows, search);
  EXPECT_EQ(both.scores.metrics.at("accuracy_at_1"), 0.25);
  EXPECT_EQ(both.scores.metrics.at("spearman_cosine"), 0.5);
  EXPECT_EQ(both.scores.note, "of 3 queries in 4 passages");
  EXPECT_EQ(both.examples, 9);
  EXPECT_TRUE(both.has_loss);
  EXPECT_EQ(both.seconds, 3);
}

TEST(SearchPrompts, AreDescribed) {
  EXPECT_EQ(describe({.query = "query: ", .passage = "passage: "}),
            "retrieval: \"query: \" stands before each query and \"passage: \" before each passage "
            "(the model's prompts)");
  EXPECT_EQ(describe(SearchPrompts()),
            "retrieval: the model has no prompts for queries and passages");
}

}  // namespace
}  // namespace berth
