#include "entrypoint/training/saved_targets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <numeric>

#include "storage/local_storage.h"
#include "tests/support/scratch_directory.h"

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

  SavedTargets saved(const std::string& identity = "teacher and rows") {
    return SavedTargets(*storage_, Uri::parse(scratch_ / "teacher"), "train", identity);
  }
  void save_all() {
    for (size_t done = 1; done <= kRows; ++done) saved().save(rows_, done, targets_);
  }
  size_t restored(const std::string& identity = "teacher and rows") {
    read_ = RowTargets(kRows, 2, DType::kF32);
    return saved(identity).restore(rows_, read_);
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
  EXPECT_EQ(restored(), kRows);
  EXPECT_THAT(read(0), ElementsAre(0, -1));
  EXPECT_THAT(read(kRows - 1), ElementsAre(static_cast<float>(kRows - 1), -1));
}

TEST_F(SavedTargetsTest, WhatWasNotFinishedIsMissingAtTheEnd) {
  save_all();
  std::filesystem::remove(file(1));
  EXPECT_EQ(restored(), SavedTargets::kRowsOfFile);
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
  EXPECT_EQ(restored(), SavedTargets::kRowsOfFile);
}

TEST_F(SavedTargetsTest, AreRemovedWithTheirDirectory) {
  save_all();
  remove_saved_targets(*storage_, Uri::parse(scratch_ / "teacher"));
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "teacher"));
}

}  // namespace
}  // namespace berth
