#include "entrypoint/training/saved_targets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <numeric>

#include "storage/local_storage.h"
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
  remove_saved_targets(*storage_, Uri::parse(scratch_ / "teacher"));
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

}  // namespace
}  // namespace berth
