#include "entrypoint/memory/disk_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/throws_code.h"

namespace berth {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr uint64_t kGiB = uint64_t{1} << 30;
constexpr DiskParts kAll{.checkpoints = true, .model = true, .teacher = true};

// BERT-base by default: the two newest, the best, and the one that is written.
DiskUse use() {
  return {.checkpoint_bytes = 3 * kGiB,
          .model_bytes = kGiB,
          .least_checkpoints = 2,
          .most_checkpoints = 4,
          .kept_checkpoints = 3};
}

DiskBudget budget(std::optional<Volume> volume, uint64_t own_bytes = 0) {
  DiskBudget budget{.use = use()};
  budget.needs.push_back({.place = "/data/runs/a",
                          .least_bytes = least_bytes(budget.use, kAll),
                          .most_bytes = most_bytes(budget.use, kAll),
                          .own_bytes = own_bytes,
                          .volume = volume});
  return budget;
}

Volume volume(uint64_t size, uint64_t free, bool is_certain = true) {
  return {.id = 1, .size_bytes = size * kGiB, .free_bytes = free * kGiB, .is_certain = is_certain};
}

TEST(DiskUseTest, ATrainingNeedsTwoCheckpointsOrOneAndTheModel) {
  EXPECT_EQ(least_bytes(use(), kAll), 6 * kGiB + kSmallFilesBytes);
  EXPECT_EQ(most_bytes(use(), kAll), 13 * kGiB);
  DiskUse once = use();
  once.least_checkpoints = 1;
  EXPECT_EQ(least_bytes(once, kAll), 4 * kGiB + kSmallFilesBytes);
}

TEST(DiskUseTest, AJobThatSavesOnceNeedsAtMostNoLessThanAtLeast) {
  const DiskUse once{.checkpoint_bytes = 3 * kGiB,
                     .model_bytes = kGiB,
                     .least_checkpoints = 1,
                     .most_checkpoints = 1,
                     .kept_checkpoints = 1};
  EXPECT_EQ(most_bytes(once, kAll), least_bytes(once, kAll));
}

TEST(DiskUseTest, APlaceNeedsWhatLiesThere) {
  EXPECT_EQ(least_bytes(use(), {.model = true}), kGiB);
  EXPECT_EQ(most_bytes(use(), {.model = true}), kGiB);
  EXPECT_EQ(least_bytes(use(), {.checkpoints = true}), 6 * kGiB + kSmallFilesBytes);
  EXPECT_EQ(most_bytes(use(), {.checkpoints = true}), 12 * kGiB);
}

TEST(DiskUseTest, EachOtherSeedNeedsAModelAndACheckpoint) {
  DiskUse seeds = use();
  seeds.other_seeds = 2;
  EXPECT_EQ(least_bytes(seeds, kAll), (6 + 2 * 4) * kGiB + kSmallFilesBytes);
  EXPECT_EQ(most_bytes(seeds, kAll), (13 + 2 * 10) * kGiB);
}

TEST(DiskTextTest, SaysWhatTheJobWritesAndWhatIsFree) {
  EXPECT_EQ(disk_text(budget(volume(100, 80))),
            "a checkpoint takes 3.0 GiB and the model 1.0 GiB, and there are at most 4 checkpoints "
            "at once; /data/runs/a needs up to 13.0 GiB, and 80.0 GiB are free there");
  EXPECT_THAT(disk_text(budget(volume(100, 12))), HasSubstr("older checkpoints will make room"));
  EXPECT_THAT(disk_text(budget(volume(100, 12), 2 * kGiB)), Not(HasSubstr("make room")));
  EXPECT_THAT(disk_text(budget(std::nullopt)), Not(HasSubstr("free")));
  EXPECT_THAT(disk_text(budget(volume(0, 0, false))), Not(HasSubstr("free")));
}

TEST(RequireDiskTest, AVolumeThatIsTooSmallIsAWrongConfiguration) {
  EXPECT_THAT([] { require_disk(budget(volume(5, 5))); },
              ThrowsCode(Code::kUsage, "needs at least 6.0 GiB, and the file system holds 5.0"));
  require_disk(budget(volume(7, 7)));
}

TEST(RequireDiskTest, AVolumeThatIsTooFullMayHaveSpaceLater) {
  EXPECT_THAT([] { require_disk(budget(volume(10, 5))); },
              ThrowsCode(Code::kNoSpace, "needs at least 6.0 GiB, and 5.0 GiB are free"));
  require_disk(budget(volume(10, 5), /*own_bytes=*/2 * kGiB));
}

TEST(RequireDiskTest, NothingIsRefusedWhereTheSizeIsNotCertain) {
  require_disk(budget(std::nullopt));
  require_disk(budget(volume(0, 0, false)));
  require_disk(budget(volume(5, 0, false)));
}

TEST(RequireDiskTest, WhoKeepsAllCheckpointsIsToldOfTheFlag) {
  DiskBudget all = budget(volume(5, 5));
  all.use.gives_up = false;
  EXPECT_THAT([&] { require_disk(all); },
              ThrowsCode(Code::kUsage, "leave --save-total-limit 0 out"));
}

}  // namespace
}  // namespace berth
