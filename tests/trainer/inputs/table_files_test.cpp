#include "trainer/inputs/table_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/local_storage.h"
#include "storage/whole_file.h"
#include "tests/support/captured_log.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/throws_code.h"
#include "trainer/inputs/data_source.h"
#include "trainer/inputs/load_data.h"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class TableFilesTest : public testing::Test {
 protected:
  void put(const std::string& name, const std::string& text = "text,label\na,b\nc,d\n") {
    write_text(*storage_, Uri::parse(scratch_ / name), text);
  }
  std::vector<std::string> files(const std::string& path) {
    std::vector<std::string> names;
    for (const Uri& file : DataSource(*storage_, scratch_ / path).files("train")) {
      names.push_back(file.path().substr((scratch_ / "").size()));
    }
    return names;
  }
  LoadedTable load(const std::string& path) {
    return load_table(*storage_, {.role = "train", .path = scratch_ / path});
  }

  ScratchDirectory scratch_;
  std::unique_ptr<Storage> storage_ = make_local_storage();
};

TEST_F(TableFilesTest, CopiesBesideATableAreRefused) {
  const std::vector<std::string> copies = {
      "train_old.csv", "train (1).csv",    "train - Copy.csv", "Copy of train.csv",
      "train.bak.csv", "train copy 2.csv", "train_backup.tsv", "TRAIN-orig.csv.gz"};
  for (size_t i = 0; i < copies.size(); ++i) {
    const std::string folder = "copies" + std::to_string(i);
    put(folder + "/train.csv");
    put(folder + "/" + copies[i]);
    EXPECT_THAT([&] { files(folder); }, ThrowsCode(Code::kBadData, copies[i])) << copies[i];
    put(folder + "/dev.csv");
    EXPECT_THAT([&] { files(folder); }, ThrowsCode(Code::kBadData, "copy of the other"));
    EXPECT_EQ(files(folder + "/*.*").size(), 3u) << "a pattern names them";
  }
}

TEST_F(TableFilesTest, TablesWithALogOfTheirFilesAreRefused) {
  for (const auto& [log, format] : {std::pair("_delta_log/00000000000000000000.json", "Delta Lake"),
                                    std::pair(".hoodie/hoodie.properties", "Apache Hudi"),
                                    std::pair("metadata/v2.metadata.json", "Apache Iceberg")}) {
    const std::string folder = std::string("logged") + log[0];
    put(folder + "/a.csv");
    put(folder + "/" + log, "{}");
    EXPECT_THAT([&] { files(folder); }, ThrowsCode(Code::kBadData, format));
  }
}

TEST_F(TableFilesTest, PartsThatTheNamesCountAreMissed) {
  const auto missing = [](const std::vector<std::string>& names) {
    std::vector<Uri> found;
    for (const std::string& name : names) found.push_back(Uri::parse("/data/" + name));
    return missing_part(found);
  };
  EXPECT_EQ(missing({"train-00000-of-00002-a1.parquet", "train-00001-of-00002-b2.parquet",
                     "test-00000-of-00001.parquet", "notes.csv", "1-of-it.csv", "-of-2.csv"}),
            "");
  EXPECT_EQ(missing({"train-00000-of-00003.parquet", "train-00002-of-00003.parquet"}),
            "\"train-00000-of-00003.parquet\" is one of 3 parts, and only 2 are there; fetch the "
            "others, or name the files by a pattern if these are all that is meant");
  put("gap/part-1-of-2.csv");
  CapturedLog log;
  EXPECT_EQ(files("gap").size(), 1u);
  EXPECT_THAT(log.warnings(),
              HasSubstr("\"part-1-of-2.csv\" is one of 2 parts, and only 1 is there"));
}

TEST_F(TableFilesTest, PartsOfATableAreNoCopies) {
  for (const char* name : {"data (1).csv", "data (2).csv", "2/data (1).csv", "gold.csv",
                           "gold_extra.csv", "part_of_it.csv", "part_it.csv"}) {
    put(std::string("parts/") + name);
  }
  EXPECT_EQ(files("parts").size(), 7u);
}

TEST_F(TableFilesTest, LockFilesOfOfficeProgramsAreNoTables) {
  for (const char* name : {"train.csv", "~$train.csv", ".~lock.train.csv#", "._train.csv",
                           "train.csv.bak", "_SUCCESS"}) {
    put(std::string("open/") + name);
  }
  EXPECT_THAT(files("open"), ElementsAre("open/train.csv"));
  put("open/dev.csv");
  put("open/~$dev.csv");
  EXPECT_THAT(files("open"), ElementsAre("open/train.csv"));
}

TEST_F(TableFilesTest, FoldersOfOtherLayoutsAreNamed) {
  put("brat/a.txt", "Ida sings.");
  put("brat/a.ann", "T1\tPER 0 3\tIda\n");
  EXPECT_THAT([&] { files("brat"); }, ThrowsCode(Code::kBadData, "annotations of brat (a.ann"));
  for (const char* name : {"neg/1.txt", "pos/1.txt", "pos/2.txt"}) {
    put(std::string("flat/") + name, "a text");
    put(std::string("split/train/") + name, "a text");
    put(std::string("split/test/") + name, "a text");
  }
  EXPECT_THAT([&] { load("flat"); },
              ThrowsCode(Code::kBadData, "a folder for each class (\"neg\", \"pos\")"));
  EXPECT_THAT([&] { load("split"); },
              ThrowsCode(Code::kBadData, "a folder for each class (\"neg\", \"pos\")"));
  put("texts/a.txt", "a text");
  EXPECT_THAT([&] { load("texts"); }, ThrowsCode(Code::kBadData, "but plain text, such as a.txt"));
}

TEST_F(TableFilesTest, AnEmptyPartIsLeftOutBesideOthers) {
  put("parts/part-0.csv", "text,label\nx,a\ny,b\n");
  put("parts/part-1.csv", "");
  put("parts/part-2.csv", "text,label\nz,a\n");
  const LoadedTable loaded = load("parts");
  EXPECT_EQ(loaded.table->rows(), 3u);
  EXPECT_EQ(loaded.sources.size(), 3u);
  EXPECT_THAT(loaded.findings.at(0).text, testing::HasSubstr("part-1.csv is empty"));
  put("alone/part-0.csv", "");
  EXPECT_THAT([&] { load("alone"); }, ThrowsCode(Code::kBadData, "is empty"));
  put("nothing/a.csv", "");
  put("nothing/b.csv", "");
  EXPECT_THAT([&] { load("nothing"); }, ThrowsCode(Code::kBadData, "has no rows"));
}

TEST_F(TableFilesTest, FoldersNamesAreColumnsOfPartitionedTables) {
  for (const char* label : {"a%20b", "c"}) {
    put(std::string("parted/label=") + label + "/part-0.csv", "text,n\nx,1\ny,2\n");
  }
  const LoadedTable loaded = load("parted");
  EXPECT_THAT(loaded.table->labels.names(), ElementsAre("a b", "c"));
  EXPECT_EQ(loaded.table->rows(), 4u);
  EXPECT_THAT(loaded.findings.at(0).rule, "columns in names of folders");
  EXPECT_EQ(load("parted/label=*/*.csv").table->rows(), 4u);
  EXPECT_THAT([&] { load("parted/label=c/part-0.csv"); },
              ThrowsCode(Code::kBadData, "no column has a usual name for labels"));
  for (const char* label : {"%ff", "caf%C3%A9"}) {  // the first one is not UTF-8
    put(std::string("escaped/label=") + label + "/part-0.csv", "text,n\nx,1\ny,2\n");
  }
  EXPECT_THAT(load("escaped").table->labels.names(), ElementsAre("%ff", "café"));
  // A column of the file outranks the folder, and nobody asks for the other one.
  put("dated/day=1/a.csv");
  EXPECT_TRUE(load("dated").findings.empty());
  put("own/label=1/a.csv");
  EXPECT_THAT(load("own").table->labels.names(), ElementsAre("b", "d"));
  put("none/label=__HIVE_DEFAULT_PARTITION__/a.csv", "text,n\nx,1\n");
  EXPECT_THAT([&] { load("none"); }, ThrowsCode(Code::kBadData, "\"label\" is missing"));
}

TEST_F(TableFilesTest, PartitionsMayBeSplits) {
  for (const char* split : {"test", "train"}) put(std::string("s/split=") + split + "/a.csv");
  EXPECT_THAT(files("s"), ElementsAre("s/split=train/a.csv"));
  EXPECT_TRUE(load("s").findings.empty());
}

TEST_F(TableFilesTest, FilesOfTheSameRowsOrOfAnotherScaleAreAWarning) {
  std::string rows = "text,score\n", percents = "text,score\n";
  for (int i = 0; i < 20; ++i) {
    rows += "text " + std::to_string(i) + ",0." + std::to_string(10 + i) + "\n";
    percents += "other " + std::to_string(i) + "," + std::to_string(50 + i) + ".5\n";
  }
  put("twice/a.csv", rows);
  put("twice/b.csv", rows);
  put("scales/a.csv", rows);
  put("scales/b.csv", percents);
  const auto warnings = [&](const char* folder) {
    CapturedLog log;
    load(folder);
    return log.warnings();
  };
  EXPECT_THAT(warnings("twice"), HasSubstr("20 of its rows are also rows of the files before it"));
  EXPECT_THAT(warnings("scales"), HasSubstr("seem to be of different scales"));
}

}  // namespace
}  // namespace berth
