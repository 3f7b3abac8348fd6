#include "trainer/inputs/job_directory.h"

#include <gmock/gmock.h>

#include "storage/base/error.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

TEST(JobDirectory, HoldsAllPartsUnlessTheyArePlacedElsewhere) {
  const JobDirectory job({.job_dir = "gs://bucket/job"});
  EXPECT_EQ(job.root().to_string(), "gs://bucket/job");
  EXPECT_EQ(job.model().to_string(), "gs://bucket/job/model");
  EXPECT_EQ(job.checkpoints().to_string(), "gs://bucket/job/checkpoints");
  EXPECT_EQ(job.summaries().to_string(), "gs://bucket/job/summaries");
  EXPECT_EQ(job.record().to_string(), "gs://bucket/job/job.json");
  EXPECT_EQ(job.metrics().to_string(), "gs://bucket/job/metrics.json");
  EXPECT_EQ(job.predictions().to_string(), "gs://bucket/job/predictions.tsv");
  EXPECT_EQ(job.test_results().to_string(), "gs://bucket/job/test_results.tsv");
}

TEST(JobDirectory, PartsLieWhereTheirFlagsSay) {
  const JobDirectory job({.job_dir = "job",
                          .export_dir = "gs://bucket/exported",
                          .checkpoint_dir = "/fast/checkpoints",
                          .summary_dir = "logs"});
  EXPECT_EQ(job.model().to_string(), "gs://bucket/exported");
  EXPECT_EQ(job.checkpoints().to_string(), "/fast/checkpoints");
  EXPECT_EQ(job.summaries().to_string(), "logs");
  EXPECT_EQ(job.metrics().to_string(), "job/metrics.json");
}

TEST(JobDirectory, EverySeedHasItsOwnPlaces) {
  const OutputOptions own =
      output_of_seed({.job_dir = "job", .export_dir = "gs://bucket/exported"}, 43);
  EXPECT_EQ(own.job_dir, "job/seed-43");
  EXPECT_EQ(own.export_dir, "gs://bucket/exported/seed-43");
  EXPECT_EQ(own.checkpoint_dir, "");
  EXPECT_EQ(JobDirectory(own).checkpoints().to_string(), "job/seed-43/checkpoints");
}

TEST(JobDirectory, AnUnknownSchemeIsAUsageError) {
  EXPECT_THAT([] { JobDirectory({.job_dir = "ftp://host/job"}); }, ThrowsCode(Code::kUsage));
}

}  // namespace
}  // namespace berth
