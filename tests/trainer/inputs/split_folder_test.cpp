#include "trainer/inputs/split_folder.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "storage/local_storage.h"
#include "storage/whole_file.h"
#include "tests/support/bucket_of_files.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/throws_code.h"
#include "trainer/inputs/data_source.h"

namespace berth {
namespace {

using testing::ElementsAre;

class SplitFolderTest : public testing::Test {
 protected:
  void put(const std::string& name, const std::string& text = "text,label\na,b\n") {
    write_text(*storage_, Uri::parse(scratch_ / name), text);
  }
  std::optional<SplitFolder> find(const std::string& path) {
    const DataSource source(*storage_, scratch_ / path);
    const SplitFolder* const found = source.splits();
    return found == nullptr ? std::nullopt : std::optional(*found);
  }
  // The files for a role, relative to the scratch directory.
  std::vector<std::string> files(const std::string& path, const std::string& role) {
    std::vector<std::string> names;
    for (const Uri& file : DataSource(*storage_, scratch_ / path).files(role)) {
      names.push_back(file.path().substr((scratch_ / "").size()));
    }
    return names;
  }
  void put_state(const std::string& folder, const std::string& files) {
    put(folder + "/state.json", R"({"_data_files": [)" + files + R"(], "_split": null})");
  }

  ScratchDirectory scratch_;
  std::unique_ptr<Storage> storage_ = make_local_storage();
};

TEST_F(SplitFolderTest, ASavedDatasetHasTheFilesOfItsStateInTheirOrder) {
  put_state("one", R"({"filename": "b.arrow"}, {"filename": "a.arrow"})");
  for (const char* name : {"one/a.arrow", "one/b.arrow", "one/cache-1f.arrow"}) put(name);
  put("one/dataset_info.json", "{}");
  EXPECT_THAT(files("one", "train"), ElementsAre("one/b.arrow", "one/a.arrow"));
  EXPECT_THAT(files("one/", "eval"), ElementsAre("one/b.arrow", "one/a.arrow"));
}

TEST_F(SplitFolderTest, ASavedDictHasASplitForEachRole) {
  put("dict/dataset_dict.json", R"({"splits": ["train", "validation", "test"]})");
  for (const char* split : {"train", "validation", "test"}) {
    put_state(std::string("dict/") + split, R"({"filename": "data.arrow"})");
  }
  EXPECT_THAT(files("dict", "train"), ElementsAre("dict/train/data.arrow"));
  EXPECT_THAT(files("dict", "train_2"), ElementsAre("dict/train/data.arrow"));
  EXPECT_THAT(files("dict", "eval"), ElementsAre("dict/validation/data.arrow"));
  EXPECT_THAT(files("dict", "predict"), ElementsAre("dict/test/data.arrow"));
  EXPECT_THAT(files("dict/test", "eval"), ElementsAre("dict/test/data.arrow"));
}

TEST_F(SplitFolderTest, ARepositoryOfTheHubHasShardsNamedAfterSplits) {
  put("hub/README.md");
  put("hub/dataset_infos.json", "{}");
  for (const char* name : {"train-00000-of-00002", "train-00001-of-00002", "test-00000-of-00001",
                           "unsupervised-00000-of-00001"}) {
    put(std::string("hub/data/") + name + ".csv");
  }
  EXPECT_THAT(files("hub", "train"), ElementsAre("hub/data/train-00000-of-00002.csv",
                                                 "hub/data/train-00001-of-00002.csv"));
  EXPECT_THAT(files("hub", "eval"), ElementsAre("hub/data/test-00000-of-00001.csv"));
  EXPECT_THAT(files("hub/data", "predict"), ElementsAre("hub/data/test-00000-of-00001.csv"));
}

TEST_F(SplitFolderTest, TablesNamedAsSplitsAreSplits) {
  put("named/README.md");
  for (const char* name : {"train.tsv.gz", "Dev.csv", "test.csv"}) {
    put(std::string("named/") + name);
  }
  EXPECT_THAT(files("named", "train"), ElementsAre("named/train.tsv.gz"));
  EXPECT_THAT(files("named", "eval"), ElementsAre("named/Dev.csv"));
  EXPECT_THAT(files("named", "predict"), ElementsAre("named/test.csv"));
  // One split alone is rows like all others.
  put("alone/train.csv");
  EXPECT_FALSE(find("alone"));
}

// Whatever is not for training must not be trained on, however people name it.
TEST_F(SplitFolderTest, NamesOfSplitsAreFoundInManyForms) {
  const std::map<std::string, std::vector<std::string>> folders = {
      {"trn.csv", {"tst.csv"}},
      {"en.train.csv", {"en.test.csv"}},
      {"trainset.csv", {"test1.csv", "test2.csv"}},
      {"train1.csv", {"holdout.csv", "labels.txt", "notes.txt", "label_map.csv"}},
      {"TrainingData.parquet", {"sample_submission.csv", "TestData.parquet"}},
      {"train/a.csv", {"test/a.csv", "classes.txt"}},
      {"default/train/0000.parquet", {"default/validation/0000.parquet"}},
      {"train/part_1/a.csv", {"dev/part_1/a.csv"}},
      {"my_test_data/train.csv", {"my_test_data/validation.csv", "my_test_data/test.csv"}},
      {"training_set/en/train/a.csv", {"training_set/en/test/a.csv"}},
      {"wiki.train.txt", {"wiki.valid.txt"}}};
  int number = 0;
  for (const auto& [train, others] : folders) {
    const std::string folder = std::to_string(number++);
    put(folder + "/" + train);
    for (const std::string& other : others) put(folder + "/" + other);
    EXPECT_THAT(files(folder, "train"), ElementsAre(folder + "/" + train));
    EXPECT_THAT(files(folder, "eval"), testing::Not(testing::Contains(folder + "/" + train)));
  }
  for (const char* name : {"train.tsv", "dev_matched.tsv", "dev_mismatched.tsv"}) {
    put(std::string("mnli/") + name);
  }
  EXPECT_THAT(files("mnli", "eval"), ElementsAre("mnli/dev_matched.tsv"));
  EXPECT_THAT(files("mnli", "eval_mm"), ElementsAre("mnli/dev_mismatched.tsv"));
}

TEST_F(SplitFolderTest, NamesThatLeaveOpenWhatIsForTrainingAreRefused) {
  const std::vector<std::vector<std::string>> folders = {{"train.csv", "test.csv", "extra.csv"},
                                                         {"all.csv", "test.csv"},
                                                         {"train.csv", "extra.csv"},
                                                         {"train.csv", "dev_test.csv"},
                                                         {"train.txt", "test.txt", "notes.txt"}};
  int number = 0;
  for (const auto& names : folders) {
    const std::string folder = "open" + std::to_string(number++);
    for (const std::string& name : names) put(folder + "/" + name);
    EXPECT_THAT([&] { find(folder); },
                ThrowsCode(Code::kBadData, "not known which of these are for training"))
        << folder;
  }
  for (const char* name : {"en/train.csv", "en/test.csv", "de/train.csv", "de/test.csv"}) {
    put(std::string("languages/") + name);
  }
  EXPECT_THAT([&] { find("languages"); }, ThrowsCode(Code::kBadData, "holds several data sets"));
  // Texts may have such words in their titles.
  for (const char* name : {"a_test_of_time.txt", "moby_dick.txt"})
    put(std::string("books/") + name);
  EXPECT_FALSE(find("books"));
}

TEST_F(SplitFolderTest, FilesOfABucketAreFoundAlike) {
  put("bucket/d/data/train-00000-of-00001.csv");
  put("bucket/d/data/validation-00000-of-00001.csv");
  BucketOfFiles bucket(*storage_, scratch_.path().string());
  const DataSource source(bucket, "gs://bucket/d");
  const SplitFolder* const found = source.splits();
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(files_for(found->splits, "eval").at(0).to_string(),
            "gs://bucket/d/data/validation-00000-of-00001.csv");
}

TEST_F(SplitFolderTest, OtherFoldersAndFilesHaveNoSplits) {
  put("plain/a.csv");
  put("plain/part-00000-of-00001.csv");
  put("other/state.json", R"({"step": 7})");
  for (const char* path : {"plain", "plain/a.csv", "other", "absent", "plain/*"}) {
    EXPECT_FALSE(find(path)) << path;
  }
  EXPECT_THAT(files("plain", "train"), ElementsAre("plain/a.csv", "plain/part-00000-of-00001.csv"));
}

TEST_F(SplitFolderTest, SeveralDataSetsAreRefused) {
  put("glue/mrpc/train-00000-of-00001.csv");
  put("glue/cola/train-00000-of-00001.csv");
  EXPECT_THAT([&] { find("glue"); }, ThrowsCode(Code::kBadData, "holds several data sets"));
  EXPECT_THAT(files("glue/cola", "train"), ElementsAre("glue/cola/train-00000-of-00001.csv"));
}

TEST_F(SplitFolderTest, NamesOfSplitsMayBeOfOtherLanguages) {
  const std::pair<std::string, std::string> splits[] = {{"entrenamiento", "prueba"},
                                                        {"trainingsdaten", "testdaten"},
                                                        {"entrainement", "validation"},
                                                        {"训练集", "测试集"},
                                                        {"学習データ", "テストデータ"}};
  for (const auto& [train, test] : splits) {
    const std::string folder = train + "/";
    put(folder + "x/" + train + ".csv");
    put(folder + "x/" + test + ".csv");
    EXPECT_THAT(files(folder + "x", "train"), ElementsAre(folder + "x/" + train + ".csv"));
    EXPECT_THAT(files(folder + "x", "eval"), ElementsAre(folder + "x/" + test + ".csv"));
  }
}

TEST_F(SplitFolderTest, ADataCardSaysWhichFilesADataSetHas) {
  const auto card = [](const std::string& configs) {
    return "---\nlicense: mit\nconfigs:\n" + configs + "task_categories:\n- x\n---\n# Rows\n";
  };
  put("two/a/rows.csv");
  put("two/b/rows.csv");
  put("two/README.md", card("- config_name: a\n  data_files: a/*\n- config_name: b\n"
                            "  data_files: b/*\n"));
  EXPECT_THAT([&] { find("two"); },
              ThrowsCode(Code::kBadData, "describes several data sets in one folder (a, b)"));
  EXPECT_THAT(files("two/a", "train"), ElementsAre("two/a/rows.csv"));
  put("one/good.csv");
  put("one/old.csv");
  const std::string good = "- config_name: default\n  data_files:\n  - split: train\n    path: ";
  put("one/README.md", card(good + "good.csv\n"));
  EXPECT_THAT([&] { find("one"); }, ThrowsCode(Code::kBadData, "and old.csv is none of them"));
  put("one/README.md", card(good + "\n    - \"good.csv\"\n    - 'ol*.csv'\n"));
  EXPECT_THAT(files("one", "train"), ElementsAre("one/good.csv", "one/old.csv"));
  put("one/README.md", "# Rows\nconfigs:\n- config_name: a\n- config_name: b\n");
  EXPECT_THAT(files("one", "train"), ElementsAre("one/good.csv", "one/old.csv"));
  put("hub/data/train-00000-of-00001.csv");
  put("hub/data/test-00000-of-00001.csv");
  put("hub/README.md", card(good + "data/train-*\n  - split: test\n    path: data/test-*\n"));
  EXPECT_THAT(files("hub", "train"), ElementsAre("hub/data/train-00000-of-00001.csv"));
  put("hub/README.md", card(good + "data/test-*\n  - split: test\n    path: data/train-*\n"));
  EXPECT_THAT([&] { find("hub"); }, ThrowsCode(Code::kBadData, "is the split "));
}

TEST_F(SplitFolderTest, AnAbsentSplitIsAnErrorThatNamesTheOthers) {
  put("hub/test-00000-of-00001.csv");
  put("hub/validation-00000-of-00001.csv");
  EXPECT_THAT([&] { files("hub", "train"); },
              ThrowsCode(Code::kBadData, "no split train; there is test, validation"));
}

TEST_F(SplitFolderTest, AStateMayNotLeadOutOfItsFolder) {
  for (const char* name : {"../a.arrow", "/etc/passwd", "..", "", ".hidden"}) {
    put_state("bad", std::string(R"({"filename": ")") + name + "\"}");
    EXPECT_THAT([&] { find("bad"); }, ThrowsCode(Code::kBadData, "outside its folder")) << name;
  }
  put("bad_dict/dataset_dict.json", R"({"splits": ["../bad"]})");
  EXPECT_THAT([&] { find("bad_dict"); }, ThrowsCode(Code::kBadData, "outside its folder"));
}

TEST_F(SplitFolderTest, AFileOfIndicesIsRefused) {
  put("old/state.json", R"({"_data_files": [{"filename": "dataset.arrow"}],
                            "_indices_data_files": [{"filename": "indices.arrow"}]})");
  EXPECT_THAT([&] { find("old"); }, ThrowsCode(Code::kBadData, "file of indices"));
}

TEST_F(SplitFolderTest, DescriptionsOfADataSetAreNoRows) {
  for (const char* name : {"README.md", ".gitattributes", "dataset_infos.json", "LICENSE.txt",
                           "data/train.csv", "data/test.csv"}) {
    put(std::string("clone/") + name);
  }
  EXPECT_THAT(files("clone", "train"), ElementsAre("clone/data/train.csv"));
  EXPECT_THAT(files("clone", "eval"), ElementsAre("clone/data/test.csv"));
  for (const char* name : {"dataset_infos.json", "rows.jsonl"}) put(std::string("one/") + name);
  EXPECT_THAT(files("one", "train"), ElementsAre("one/rows.jsonl"));
}

TEST_F(SplitFolderTest, ASplitMayBeAPartOfAName) {
  for (const char* name : {"news_train.csv", "news-test.csv"}) put(std::string("part/") + name);
  EXPECT_THAT(files("part", "train"), ElementsAre("part/news_train.csv"));
}

// datasets writes the names that people gave.
TEST_F(SplitFolderTest, ASavedDictMayNameItsSplitsOtherwise) {
  for (const std::string name : {"dev", "val", "Validation"}) {
    put(name + "/dataset_dict.json", R"({"splits": ["train", "test", ")" + name + R"("]})");
    for (const std::string split : {"train", "test", name.c_str()}) {
      put_state(name + "/" + split, R"({"filename": "data.arrow"})");
    }
    EXPECT_THAT(files(name, "train"), ElementsAre(name + "/train/data.arrow"));
    EXPECT_THAT(files(name, "eval"), ElementsAre(name + "/" + name + "/data.arrow"));
    EXPECT_THAT(files(name, "predict"), ElementsAre(name + "/test/data.arrow"));
  }
}

TEST_F(SplitFolderTest, ASplitToTestIsNotTrainedOn) {
  put("only/dataset_dict.json", R"({"splits": ["test"]})");
  put_state("only/test", R"({"filename": "data.arrow"})");
  EXPECT_THAT(files("only", "eval"), ElementsAre("only/test/data.arrow"));
  EXPECT_THAT([&] { files("only", "train"); },
              ThrowsCode(Code::kBadData, "no split train; there is test"));
}

}  // namespace
}  // namespace berth
