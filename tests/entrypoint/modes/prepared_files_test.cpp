#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "entrypoint/modes/preparation.h"
#include "storage/archive.h"
#include "storage/formats/tfrecord.h"
#include "storage/local_storage.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

using testing::ElementsAre;

class PreparedFiles : public testing::Test {
 protected:
  void write(int64_t rows) {
    write_prepared(*storage_, directory_, "train", options_, rows,
                   [](int64_t row, std::vector<std::byte>& bytes) {
                     const std::string line = std::to_string(row) + "\n";
                     for (const std::byte each : as_bytes(line)) bytes.push_back(each);
                   });
  }
  std::string text(const std::string& name) { return read_text(scratch_ / ("out/" + name)); }
  void refuse() { refuse_leftovers(*storage_, directory_, "train", options_); }

  ScratchDirectory scratch_;
  const Uri directory_ = Uri::parse(scratch_ / "out");
  std::unique_ptr<Storage> storage_ = make_local_storage();
  PreparedFileOptions options_;
};

TEST_F(PreparedFiles, AreNamedAsTheirReadersExpect) {
  EXPECT_THAT(prepared_names("train", options_), ElementsAre("train.tf_record"));
  options_ = {.num_shards = 2, .gzip = true};
  const std::vector<std::string> shards = prepared_names("eval", options_);
  EXPECT_THAT(shards,
              ElementsAre("eval.tf_record-00000-of-00002.gz", "eval.tf_record-00001-of-00002.gz"));
  EXPECT_TRUE(names_records(without_compression_suffix(shards[0])));
  options_ = {.format = RecordFormat::kJsonl, .num_shards = 2};
  EXPECT_EQ(prepared_names("eval", options_)[1], "eval-00001-of-00002.jsonl");
}

TEST_F(PreparedFiles, ShardsHoldTheRowsInTheirOrder) {
  options_.num_shards = 3;
  write(5);
  EXPECT_EQ(text("train.tf_record-00000-of-00003"), "0\n");
  EXPECT_EQ(text("train.tf_record-00001-of-00003"), "1\n2\n");
  EXPECT_EQ(text("train.tf_record-00002-of-00003"), "3\n4\n");
}

TEST_F(PreparedFiles, MayBeCompressed) {
  options_.gzip = true;
  write(3);
  const auto source =
      decompress(storage_->open(directory_ / "train.tf_record.gz"), Compression::kGzip);
  EXPECT_EQ(as_text(read_all(*source, 100, "test")), "0\n1\n2\n");
}

TEST_F(PreparedFiles, AreNotMixedWithThoseOfAnotherPreparation) {
  refuse();
  write(3);
  refuse();  // files of the same names may be replaced
  options_.num_shards = 2;
  EXPECT_THAT([&] { refuse(); }, ThrowsCode(Code::kIncompatible, "train.tf_record"));
  options_.format = RecordFormat::kJsonl;
  refuse();  // there are no files of this format yet
  write(3);
  options_.num_shards = 1;
  EXPECT_THAT([&] { refuse(); }, ThrowsCode(Code::kIncompatible, "train-00000-of-00002.jsonl"));
}

}  // namespace
}  // namespace berth
