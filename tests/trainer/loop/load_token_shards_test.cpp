#include "trainer/loop/load_token_shards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/base/memory_sink.h"
#include "storage/gzip_writer.h"
#include "storage/local_storage.h"
#include "storage/whole_file.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/throws_code.h"
#include "tests/support/token_shard_bytes.h"

namespace berth {
namespace {

using testing::ElementsAre;

class LoadShards : public testing::Test {
 protected:
  void put(const std::string& name, Bytes bytes) {
    write_text(*storage_, Uri::parse(scratch_ / name), as_text(bytes));
  }
  void put_three(const std::string& suffix = "") {
    const auto files = three_token_shards();
    for (size_t i = 0; i < files.size(); ++i) {
      const std::string name = "train-0000" + std::to_string(i) + "-of-00003.tokens" + suffix;
      if (suffix.empty()) {
        put(name, files[i]);
        continue;
      }
      MemorySink packed;
      GzipWriter gzip(packed);
      gzip.write(files[i]);
      gzip.finish();
      put(name, packed.written);
    }
  }
  LoadedTable load(const std::string& path) {
    request_.path = scratch_ / path;
    return load_table(*storage_, request_);
  }
  static TokenSequences sequences(const LoadedTable& loaded) {
    TokenSequences all;
    for (uint32_t row = 0; row < loaded.table->rows(); ++row) {
      all.push_back(loaded.table->read(row).token_ids);
    }
    return all;
  }

  ScratchDirectory scratch_;
  std::unique_ptr<Storage> storage_ = make_local_storage();
  DataRequest request_{.role = "train", .path = "", .rules = {.keeps_keys = true}};
};

const TokenSequences kAll = {{1, 2}, {3}, {4, 5, 6}, {7}, {8}};

TEST_F(LoadShards, APatternOrADirectoryNamesThem) {
  put_three();
  const LoadedTable loaded = load("*.tokens");
  EXPECT_EQ(loaded.task, Task::kMaskedLm);
  EXPECT_EQ(sequences(loaded), kAll);
  EXPECT_EQ(loaded.sources.size(), 3u);
  EXPECT_EQ(loaded.sources[1].checksum.size, three_token_shards()[1].size());
  EXPECT_EQ(sequences(load("")), kAll);
}

// Files that cannot be mapped are copied. Their rows and keys are the same.
TEST_F(LoadShards, TheyMayBeCompressed) {
  put_three();
  LoadedTable mapped = load("*.tokens");
  put_three(".gz");
  LoadedTable copied = load("*.tokens.gz");
  EXPECT_EQ(sequences(copied), kAll);
  const RowKeys keys = copied.table->take_keys();
  EXPECT_EQ(keys.hashes, mapped.table->take_keys().hashes);
  EXPECT_EQ(keys.strata.size(), 5u);
}

TEST_F(LoadShards, WhatIsWrongIsNamed) {
  put_three();
  request_.rules.tokenizer_checksum = [] { return 18u; };
  EXPECT_THAT([&] { load("*.tokens"); }, ThrowsCode(Code::kBadData, "another tokenizer"));
  request_.rules.tokenizer_checksum = [] { return 17u; };
  EXPECT_EQ(sequences(load("*.tokens")), kAll);
  EXPECT_THAT([&] { load("train-0000[02]*.tokens"); },
              ThrowsCode(Code::kBadData, "train-00002-of-00003.tokens: is shard 3 of 3"));
  put("train-00001-of-00003.tokens", Bytes(three_token_shards()[1]).first(90));
  EXPECT_THAT([&] { load("*.tokens"); },
              ThrowsCode(Code::kCorrupt, "train-00001-of-00003.tokens: byte 90"));
  put("notes.txt", as_bytes("text"));
  EXPECT_THAT([&] { load("*"); }, ThrowsCode(Code::kBadData, "beside other files"));
}

TEST_F(LoadShards, OtherTasksAreRefused) {
  put_three();
  request_.rules.task = Task::kSequenceClassification;
  EXPECT_THAT([&] { load("*.tokens"); }, ThrowsCode(Code::kBadData, "no labels"));
  for (const Task task : {Task::kMaskedLm, Task::kHiddenStateDistillation}) {
    request_.rules.task = task;
    EXPECT_EQ(load("*.tokens").table->rows(), 5u);
  }
}

}  // namespace
}  // namespace berth
