#include "entrypoint/training/teacher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <numeric>

#include "storage/local_storage.h"
#include "tests/support/letter_data.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

using testing::ElementsAre;

class SavedTargetsTest : public testing::Test {
 protected:
  static constexpr size_t kRows = SavedTargets::kRowsOfFile + 3;

  SavedTargetsTest() {
    std::iota(rows_.begin(), rows_.end(), 0u);
    for (const uint32_t row : rows_) {
      targets_.set(row, std::vector<float>{static_cast<float>(row), -1});
    }
  }

  SavedTargets saved(RowTargets& targets, const std::string& identity = "teacher and rows",
                     size_t bytes_of_file = SavedTargets::kBytesOfFile) {
    return SavedTargets(*storage_, Uri::parse(scratch_ / "teacher"), "train", identity, rows_,
                        targets, bytes_of_file);
  }
  void save_all() {
    const SavedTargets all = saved(targets_);
    ASSERT_EQ(all.parts(), 2u);
    for (size_t part = 0; part < all.parts(); ++part) all.save(part);
  }
  // The number of parts.
  size_t restored(const std::string& identity = "teacher and rows") {
    read_ = RowTargets(kRows, 2, DType::kF32);
    return saved(read_, identity).restore();
  }
  std::string file(int number) const {
    return scratch_ / ("teacher/train-0000" + std::to_string(number) + ".safetensors");
  }
  std::vector<float> read(uint32_t row) const {
    std::vector<float> values;
    read_.append_to(row, values);
    return values;
  }

  ScratchDirectory scratch_;
  std::unique_ptr<Storage> storage_ = make_local_storage();
  std::vector<uint32_t> rows_ = std::vector<uint32_t>(kRows);
  RowTargets targets_{kRows, 2, DType::kF32}, read_{1, 1, DType::kF32};
};

TEST_F(SavedTargetsTest, AreRestored) {
  EXPECT_EQ(restored(), 0u);
  save_all();
  EXPECT_EQ(restored(), 2u);
  EXPECT_THAT(read(0), ElementsAre(0, -1));
  EXPECT_THAT(read(kRows - 1), ElementsAre(static_cast<float>(kRows - 1), -1));
}

TEST_F(SavedTargetsTest, ArePassedOnAsBytes) {
  read_ = RowTargets(kRows, 2, DType::kF32);
  const SavedTargets from = saved(targets_);
  SavedTargets to = saved(read_);
  for (size_t part = 0; part < from.parts(); ++part) to.set_bytes(part, from.bytes(part));
  EXPECT_THAT(read(0), ElementsAre(0, -1));
  EXPECT_THAT(read(kRows - 1), ElementsAre(static_cast<float>(kRows - 1), -1));
  EXPECT_THAT([&] { to.set_bytes(0, from.bytes(1)); }, ThrowsCode(Code::kCorrupt, "another size"));
}

TEST_F(SavedTargetsTest, WhatWasNotFinishedIsMissingAtTheEnd) {
  save_all();
  std::filesystem::remove(file(1));
  EXPECT_EQ(restored(), 1u);
}

TEST_F(SavedTargetsTest, ThoseOfAnotherTeacherAreNotTaken) {
  save_all();
  EXPECT_EQ(restored("another teacher"), 0u);
}

TEST_F(SavedTargetsTest, DamagedFilesAreMadeAgain) {
  save_all();
  {
    std::fstream damaged(file(0), std::ios::in | std::ios::out | std::ios::binary);
    damaged.seekp(-2, std::ios::end);
    damaged.put('x');
  }
  EXPECT_EQ(restored(), 0u);
  save_all();
  std::filesystem::resize_file(file(1), 10);
  EXPECT_EQ(restored(), 1u);
}

TEST_F(SavedTargetsTest, AreRemovedWithTheirDirectory) {
  save_all();
  remove_saved_tensors(*storage_, Uri::parse(scratch_ / "teacher"));
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "teacher"));
}

// Rows have as many vectors as tokens, and a file ends where it has so many bytes.
TEST_F(SavedTargetsTest, RowsMayHaveSeveralVectors) {
  const std::vector<uint32_t> tokens = {2, 1, 0, 5, 1};
  RowTargets targets(tokens, 3, DType::kBF16), read(tokens, 3, DType::kBF16);
  rows_ = {0, 1, 3, 4};
  for (const uint32_t row : rows_) {
    for (uint32_t token = 0; token < tokens[row]; ++token) {
      targets.set(row, std::vector<float>{static_cast<float>(row), static_cast<float>(token), 1},
                  token);
    }
  }
  constexpr size_t kThreeVectors = 3 * 3 * sizeof(uint16_t);
  SavedTargets all = saved(targets, "hidden states", kThreeVectors);
  ASSERT_EQ(all.parts(), 3u);
  EXPECT_THAT(all.rows_of(0), ElementsAre(0, 1));
  EXPECT_THAT(all.rows_of(1), ElementsAre(3));
  EXPECT_THAT(all.rows_of(2), ElementsAre(4));
  for (size_t part = 0; part < all.parts(); ++part) all.save(part);
  EXPECT_EQ(saved(read, "hidden states", kThreeVectors).restore(), 3u);
  std::vector<float> values;
  read.append_to(3, values, 3, 2);
  EXPECT_THAT(values, ElementsAre(3, 3, 1, 3, 4, 1));
  values.clear();
  read.append_to(4, values);
  EXPECT_THAT(values, ElementsAre(4, 0, 1));
  // Other lengths of the same rows do not fit.
  RowTargets others(std::vector<uint32_t>{1, 2, 0, 5, 2}, 3, DType::kBF16);
  EXPECT_EQ(saved(others, "hidden states", kThreeVectors).restore(), 2u);
}

// A tokenizer of letters that calls the token of one id something else, and that may read capital
// letters as small ones.
class OtherTokenizer final : public Tokenizer {
 public:
  OtherTokenizer(int32_t other_id, bool lowers, int32_t size = 29)
      : other_id_(other_id), lowers_(lowers), size_(size) {}

  int32_t vocab_size() const override { return size_; }
  Encoding encode(std::string_view text, std::optional<std::string_view> pair,
                  const EncodeOptions& options) const override {
    std::string lower(text);
    for (char& letter : lower) {
      if (lowers_ && letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter + 32);
    }
    return letters_.encode(lower, pair, options);
  }
  std::string token(int32_t id) const override {
    return id == other_id_ ? "?" : letters_.token(id);
  }
  std::vector<File> files() const override { return {}; }

 private:
  const LetterTokenizer letters_;
  const int32_t other_id_;
  const bool lowers_;
  const int32_t size_;
};

TEST(SharedTokens, EqualTokenizersAreAccepted) {
  require_same_tokenizer(LetterTokenizer(), OtherTokenizer(-1, false), "teacher");
}

TEST(SharedTokens, OtherVocabulariesAreRefused) {
  const auto compare = [](const OtherTokenizer& teacher) {
    require_same_tokenizer(LetterTokenizer(), teacher, "teacher");
  };
  EXPECT_THAT([&] { compare(OtherTokenizer(5, false)); },
              ThrowsCode(Code::kUsage, "token 5 is \"?\", and the student's is \"c\""));
  EXPECT_THAT([&] { compare(OtherTokenizer(-1, false, 30)); },
              ThrowsCode(Code::kUsage, "it has 30 tokens, and the student's has 29"));
  EXPECT_THAT([&] { compare(OtherTokenizer(-1, false, 30)); },
              ThrowsCode(Code::kUsage, "--vocab-file"));
}

TEST(SharedTokens, OtherTreatmentOfCaseIsRefused) {
  EXPECT_THAT(
      [&] { require_same_tokenizer(LetterTokenizer(), OtherTokenizer(-1, true), "teacher"); },
      ThrowsCode(Code::kUsage, "--do-lower-case"));
}

TEST(SharedTokens, EveryRowIsCompared) {
  const auto table = table_of({"ab", "abcdefg", "cD", "e"});
  const LetterTokenizer student;
  const OtherTokenizer teacher(-1, /*lowers=*/true);
  constexpr Task kTask = Task::kHiddenStates;
  const FeatureOptions options{.task = kTask, .max_seq_length = 5, .labelled = false};
  const auto ours = make_feature_maker(options, student);
  const auto theirs = make_feature_maker(options, teacher);
  const auto compare = [&](const std::vector<uint32_t>& rows) {
    Dataset of_student(*table, rows, kTask, *ours, false);
    Dataset of_teacher(*table, rows, kTask, *theirs, false);
    require_same_tokens(of_student, of_teacher, "teacher");
  };
  compare({0, 1, 3});
  EXPECT_THAT([&] { compare({0, 1, 2, 3}); }, ThrowsCode(Code::kUsage, "other tokens of row 2"));
}

}  // namespace
}  // namespace berth
