#include "trainer/inputs/load_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "storage/base/bytes.h"
#include "storage/formats/tf_example.h"
#include "storage/formats/tfrecord.h"
#include "storage/gzip_stream.h"
#include "storage/local_storage.h"
#include "storage/whole_file.h"
#include "tests/support/captured_log.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/throws_code.h"
#include "tests/support/token_shard_bytes.h"

namespace berth {
namespace {

using testing::ElementsAre;

class LoadTableTest : public testing::Test {
 protected:
  LoadedTable load(const std::string& path) {
    return load_table(*storage_, {.role = "train", .path = scratch_ / path});
  }
  void put(const std::string& name, const std::string& text) {
    write_text(*storage_, Uri::parse(scratch_ / name), text);
  }

  // The first text of every row.
  static std::vector<std::string> texts(const LoadedTable& loaded) {
    std::vector<std::string> texts;
    for (uint32_t row = 0; row < loaded.table->rows(); ++row) {
      texts.push_back(loaded.table->read(row).texts.front());
    }
    return texts;
  }

  ScratchDirectory scratch_;
  std::unique_ptr<Storage> storage_ = make_local_storage();
};

TEST_F(LoadTableTest, RecordsMayBeGzippedWhateverTheirName) {
  std::vector<std::byte> record;
  const std::vector<int64_t> ids = {101, 7, 102}, label = {1};
  const std::vector<TfFeature> features = {{"input_ids", ids}, {"label_ids", label}};
  append_tfrecord(record, serialize_tf_example(features));
  MemorySink packed;
  GzipWriter gzip(packed);
  gzip.write(record);
  gzip.finish();
  put("a.tf_record", std::string(as_text(packed.written)));
  put("b.tf_record", std::string(as_text(record)));
  EXPECT_THAT(load("a.tf_record").table->read(0).token_ids, ElementsAre(101, 7, 102));
  EXPECT_THAT(load("b.tf_record").table->read(0).token_ids, ElementsAre(101, 7, 102));
}

TEST_F(LoadTableTest, TablesMayBeCompressedWhateverTheirName) {
  MemorySink packed;
  GzipWriter gzip(packed);
  gzip.write(as_bytes("text,label\nx,a\ny,b\n"));
  gzip.finish();
  put("packed.csv", std::string(as_text(packed.written)));
  EXPECT_THAT(texts(load("packed.csv")), ElementsAre("x", "y"));
}

TEST_F(LoadTableTest, PointersOfGitLfsAreNamed) {
  for (const char* name : {"a.csv", "a.jsonl", "a.parquet", "a.pkl"}) {
    put(name, "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n");
    EXPECT_THAT([&] { load(name); }, ThrowsCode(Code::kBadData, "git lfs pull")) << name;
  }
}

TEST_F(LoadTableTest, AFileGivesATableAndASource) {
  put("a.csv", "text,label\none,1\ntwo,2\n");
  const LoadedTable loaded = load("a.csv");
  EXPECT_THAT(texts(loaded), ElementsAre("one", "two"));
  EXPECT_EQ(loaded.name, scratch_ / "a.csv");
  ASSERT_EQ(loaded.sources.size(), 1u);
  Checksum checksum;
  checksum.add(as_bytes("text,label\none,1\ntwo,2\n"));
  EXPECT_EQ(loaded.sources[0].checksum, checksum);
  EXPECT_EQ(loaded.sources[0].role, "train");
}

// A Parquet file is read from a mapping; the checksum must cover it all the same.
TEST_F(LoadTableTest, ParquetIsATableWithAChecksum) {
  std::ifstream recorded(BERTH_TESTDATA "/parquet/datasets.parquet", std::ios::binary);
  const std::string file{std::istreambuf_iterator<char>(recorded), {}};
  put("a.parquet", file);
  DataRequest request{.role = "train", .path = scratch_ / "a.parquet"};
  request.rules.skip_bad_rows = 1;  // the last row has no label
  const LoadedTable loaded = load_table(*storage_, request);
  EXPECT_THAT(texts(loaded), ElementsAre("a", "b"));
  EXPECT_THAT(loaded.table->labels.names(), ElementsAre("neg", "pos"));
  Checksum checksum;
  checksum.add(as_bytes(file));
  EXPECT_EQ(loaded.sources[0].checksum, checksum);
}

// Files of RACE (Lai et al. 2017) are called .txt, and hold an article with questions each.
TEST_F(LoadTableTest, FilesOfRaceHaveARowForEachQuestion) {
  const std::string article =
      R"({"answers": ["B", "A"], "options": [["c", "d"], ["e", "f"]], "questions": ["_ b", "g?"], )"
      R"("article": "a, {a", "id": "high1.txt"})";
  for (const char* name :
       {"train/high/1.txt", "train/middle/2.txt", "dev/high/3.txt", "one.json", "lines.jsonl"}) {
    put(name, article + "\n");
  }
  DataRequest request{.role = "train", .path = scratch_ / "train/*/*.txt"};
  request.rules.task = Task::kMultipleChoice;
  const LoadedTable loaded = load_table(*storage_, request);
  ASSERT_EQ(loaded.table->rows(), 4u);
  EXPECT_THAT(loaded.table->read(2).texts, ElementsAre("a, {a", "c b", "d b"));
  EXPECT_THAT(loaded.table->read(3).texts, ElementsAre("a, {a", "g? e", "g? f"));
  EXPECT_THAT(loaded.table->read(3).labels, ElementsAre(0));
  for (const char* name : {"one.json", "lines.jsonl"}) {
    request.path = scratch_ / name;
    EXPECT_EQ(load_table(*storage_, request).table->rows(), 2u) << name;
  }
  request.path = scratch_ / "train";
  EXPECT_THAT([&] { load_table(*storage_, request); },
              ThrowsCode(Code::kBadData, "such as 'RACE/train/*/*.txt'"));
  put("train/middle/2.txt", article.substr(0, 90));
  request.path = scratch_ / "train/*/*.txt";
  EXPECT_THAT([&] { load_table(*storage_, request); },
              ThrowsCode(Code::kBadData, "train/middle/2.txt"));
  write_text(*storage_, Uri::parse(scratch_ / "race/train/high/1.txt"), article);
  write_text(*storage_, Uri::parse(scratch_ / "race/dev/middle/2.txt"), article);
  request.path = scratch_ / "race";
  EXPECT_EQ(load_table(*storage_, request).table->rows(), 2u);
}

// pandas' split orient has a member "data", as SQuAD's files do.
TEST_F(LoadTableTest, ASplitTableIsNoSquadFile) {
  std::string rows;
  for (int i = 0; i < 3'000; ++i) {
    rows += (i == 0 ? "" : ",") + std::string(R"(["some text",)") + std::to_string(i % 2) + "]";
  }
  put("a.json", R"({"columns":["text","label"],"data":[)" + rows + "]}");
  EXPECT_EQ(load("a.json").table->rows(), 3'000u);
}

TEST_F(LoadTableTest, AnIndentedTableCalledDataIsNoSquadFile) {
  put("a.json",
      "{\n \"schema\": {\"fields\": []},\n \"data\": [\n  {\"text\": \"one\", "
      "\"label\": 1},\n  {\"text\": \"two\", \"label\": 0}\n ]\n}\n");
  EXPECT_THAT(texts(load("a.json")), ElementsAre("one", "two"));
}

TEST_F(LoadTableTest, ParagraphsOfSquadMayBeAListOrBeCalledData) {
  const std::string list = R"([{"context": "c", "qas": [{"question": "q", "id": "1",
      "answers": [{"text": "c", "answer_start": 0}]}]}])";
  put("a.json", list);
  put("b.json", "\xEF\xBB\xBF" + list);
  put("c.json", R"({"data": )" + list + "}");
  for (const char* name : {"a.json", "b.json", "c.json"}) {
    const LoadedTable loaded = load(name);
    EXPECT_EQ(loaded.task, Task::kQuestionAnswering) << name;
    EXPECT_EQ(loaded.table->rows(), 1u) << name;
  }
}

TEST_F(LoadTableTest, FilesOfTwoDataSetsAreToldOf) {
  const auto warnings = [&](const std::string& path) {
    CapturedLog log;
    load(path);
    return log.warnings();
  };
  put("two/a.csv", "text,label\none,hate\ntwo,fine\n");
  put("two/b.csv", "text,label\nthree,joy\nfour,anger\n");
  EXPECT_THAT(warnings("two"), testing::HasSubstr("are other labels than in the files before it"));
  // Files of one class each, and files that share a class, are parts of one data set.
  put("one/a.csv", "text,label\none,a\n");
  put("one/b.csv", "text,label\ntwo,b\n");
  put("one/c.csv", "text,label\nthree,c\nfour,b\n");
  EXPECT_THAT(warnings("one"), testing::Not(testing::HasSubstr("are other labels")));
}

TEST_F(LoadTableTest, LinesMayBeArticlesOrParagraphsOfSquad) {
  const std::string qas =
      R"("qas": [{"question": "q", "id": "1", "answers": [{"text": "c", "answer_start": 0}]}])";
  const std::string long_context(100'000, 'c');
  const std::string paragraph = R"({"context": ")" + long_context + "\", " + qas + "}";
  const std::string article = R"({"title": "t", "paragraphs" : [ )" + paragraph + "]}";
  put("a.jsonl", article + "\n" + paragraph + "\n");
  put("b.ndjson", "{" + qas + R"(, "context": "c"})" + "\n" + article);
  put("c.json", paragraph + "\n" + article);
  for (const char* name : {"a.jsonl", "b.ndjson", "c.json"}) {
    const LoadedTable loaded = load(name);
    EXPECT_EQ(loaded.task, Task::kQuestionAnswering) << name;
    EXPECT_EQ(loaded.table->rows(), 2u) << name;
  }
  // A table whose columns have these names.
  put("d.jsonl", R"({"text": "a", "paragraphs": ["b"], "label": 1, "note": {"paragraphs": [{}]}})");
  EXPECT_EQ(load("d.jsonl").task, kDefaultTask);
  DataRequest request{.role = "train", .path = scratch_ / "a.jsonl"};
  request.rules = {.task = Task::kMaskedLm, .columns = {.text = "title"}};
  request.rules.keeps_missing_texts = true;
  EXPECT_EQ(load_table(*storage_, request).table->rows(), 2u);
}

// Label Studio's export has a member "data", too.
TEST_F(LoadTableTest, AnIndentedListOfTextsWithSpansIsNoSquadFile) {
  put("a.json", R"([
  {
    "id": 1,
    "data": {
      "text": "Ida sings"
    },
    "annotations": [
      {"result": [{"value": {"start": 0, "end": 3, "labels": ["PER"]}}]}
    ]
  }
])");
  const LoadedTable loaded = load("a.json");
  EXPECT_EQ(loaded.task, Task::kTokenClassification);
  EXPECT_THAT(loaded.table->read(0).texts, ElementsAre("Ida", "sings"));
}

TEST_F(LoadTableTest, ManyFilesAreOneTableInTheOrderOfTheirNames) {
  put("data/part-2.jsonl", R"({"label": 1, "text": "c"})");
  put("data/part-1.csv", "text,label\na,1\nb,2\n");
  put("data/part-3.tsv", "label\ttext\n2\td\n");
  put("data/README.md", "about it");
  for (const char* path : {"data", "data/", "data/part-*"}) {
    const LoadedTable loaded = load(path);
    EXPECT_THAT(texts(loaded), ElementsAre("a", "b", "c", "d"));
    EXPECT_THAT(loaded.table->labels.names(), ElementsAre("1", "2"));
    ASSERT_EQ(loaded.sources.size(), 3u);
    EXPECT_EQ(Uri::parse(loaded.sources[1].uri), Uri::parse(scratch_ / "data") / "part-2.jsonl");
  }
}

// A remote object that arrives damaged the first time it is read. With `is_bad`, the stored object
// itself is damaged.
class OnceDamaged final : public Storage {
 public:
  std::unique_ptr<ByteSource> open(const Uri&, const ReadOptions&) override {
    const bool is_damaged = opened_++ == 0 || is_bad;
    return std::make_unique<MemorySource>(
        as_bytes(is_damaged ? "text,label\na,1\nb\n" : "text,label\na,1\nb,2\n"));
  }
  std::unique_ptr<ByteSink> create(const Uri&, const WriteOptions&) override { return nullptr; }
  std::optional<Stat> stat(const Uri& uri) override { return Stat{.name = uri.to_string()}; }
  std::vector<Stat> list(const Uri&, size_t) override { return {}; }
  void remove(const Uri&, std::optional<Generation>) override {}

  bool is_bad = false;  // whether the stored object is damaged

 private:
  int opened_ = 0;
};

TEST_F(LoadTableTest, DamageInTransitIsNotTakenForBadData) {
  const auto load_remote = [](Storage& storage) {
    load_table(storage, {.role = "train", .path = "gs://bucket/a.csv"});
  };
  OnceDamaged storage;
  EXPECT_THAT([&] { load_remote(storage); }, ThrowsCode(Code::kUnavailable, "arrived damaged"));
  storage.is_bad = true;
  EXPECT_THAT([&] { load_remote(storage); }, ThrowsCode(Code::kBadData, "a.csv: line 3"));
}

TEST_F(LoadTableTest, EachFileOfWordsHasColumnsOfItsOwn) {
  put("c/a.conll", "mara B-PER\nlives O\n\nso O\n");
  put("c/b.conll", "paul\tB-PER\tNN\nis\tO\tVB\n\nhere\tO\tRB\n");
  put("c/c.conll", "1\tida\tB-LOC\n2\tsings\tO\n\n");
  const LoadedTable loaded = load("c");
  EXPECT_THAT(texts(loaded), ElementsAre("mara", "so", "paul", "here", "ida"));
  EXPECT_THAT(loaded.table->labels.names(), ElementsAre("B-LOC", "B-PER", "O"));
  // What the training has read of another table is no flag.
  DataRequest eval{.role = "eval", .path = scratch_ / "c/c.conll"};
  eval.rules.task = Task::kTokenClassification;
  eval.rules.columns = {.text = "words", .label = "ner_tags"};
  eval.asked = ColumnChoice();
  EXPECT_THAT(texts(load_table(*storage_, eval)), ElementsAre("ida"));
}

TEST_F(LoadTableTest, ATaggerReadsTsvWithNamesAsATable) {
  put("a.tsv", "text\tlabels\nmara lives\tB-PER O\nso it goes\tO O O\n");
  put("b.tsv", "text\tentities\nmara lives\t[[0, 4, 'PER']]\nso it goes\t[]\n");
  for (const char* name : {"a.tsv", "b.tsv"}) {
    DataRequest request{.role = "train", .path = scratch_ / name};
    request.rules.task = Task::kTokenClassification;
    request.rules.columns.tags = "ner";
    const LoadedTable loaded = load_table(*storage_, request);
    EXPECT_EQ(loaded.table->read(0).texts, (std::vector<std::string>{"mara", "lives"})) << name;
    EXPECT_THAT(loaded.table->labels.names(), ElementsAre("B-PER", "O")) << name;
  }
}

TEST_F(LoadTableTest, ErrorsNameTheFile) {
  put("data/a.csv", "text,label\na,1\n");
  put("data/b.csv", "text,label\nb\n");
  EXPECT_THAT([&] { load("data"); }, ThrowsCode(Code::kBadData, "data/b.csv: line 2"));
  put("data/b.csv", "content,label\nb,1\n");
  EXPECT_THAT(
      [&] { load("data"); },
      ThrowsCode(Code::kBadData, R"(data/b.csv: there is no column "text", which the first file)"));
}

TEST_F(LoadTableTest, RowsMayBeInOneFileOnly) {
  put("data/a.csv", "text,label\n");
  put("data/b.csv", "text,label\nb,1\n");
  EXPECT_EQ(load("data").table->rows(), 1u);
  put("data/b.csv", "text,label\n");
  EXPECT_THAT([&] { load("data"); }, ThrowsCode(Code::kBadData, "data: has no rows"));
}

// A folder that TensorFlow Datasets wrote. It has two texts for training and one for testing.
class TfdsFolderTest : public LoadTableTest {
 protected:
  TfdsFolderTest() {
    put("ag/features.json", R"({"featuresDict": {"features": {
        "label": {"classLabel": {"numClasses": "2"}}, "text": {"text": {}}}}})");
    put("ag/dataset_info.json", "{}");
    put("ag/label.labels.txt", "World\nSports\n");
    put_records("ag/ag-train.tfrecord-00000-of-00001", {{"a", 1}, {"b", 0}});
    put_records("ag/ag-test.tfrecord-00000-of-00001", {{"c", 1}});
  }

  void put_records(const std::string& name,
                   const std::vector<std::pair<std::string, int64_t>>& rows) {
    std::vector<std::byte> file;
    for (const auto& [text, label] : rows) {
      append_tfrecord(file, serialize_tf_example(
                                std::vector<TfFeature>{{"label", std::vector<int64_t>{label}},
                                                       {"text", std::vector<std::string>{text}}}));
    }
    put(name, std::string(as_text(file)));
  }
};

TEST_F(TfdsFolderTest, TrainingReadsTheTrainSplit) {
  const LoadedTable loaded = load("ag");
  EXPECT_THAT(texts(loaded), ElementsAre("a", "b"));
  EXPECT_THAT(loaded.table->labels.names(), ElementsAre("World", "Sports"));
  ASSERT_EQ(loaded.sources.size(), 1u);
}

TEST_F(TfdsFolderTest, SquadsAnswersAreRead) {
  using Texts = std::vector<std::string>;
  using Numbers = std::vector<int64_t>;
  std::vector<std::byte> file;
  append_tfrecord(file,
                  serialize_tf_example(std::vector<TfFeature>{{"answers/answer_start", Numbers{7}},
                                                              {"answers/text", Texts{"me"}},
                                                              {"context", Texts{"it was me"}},
                                                              {"id", Texts{"q7"}},
                                                              {"question", Texts{"who?"}}}));
  append_tfrecord(file,
                  serialize_tf_example(std::vector<TfFeature>{{"answers/answer_start", Numbers{}},
                                                              {"answers/text", Texts{}},
                                                              {"context", Texts{"it was me"}},
                                                              {"id", Texts{"q8"}},
                                                              {"question", Texts{"why?"}}}));
  put("ag/ag-train.tfrecord-00000-of-00001", std::string(as_text(file)));
  const LoadedTable loaded = load("ag");
  EXPECT_EQ(loaded.task, Task::kQuestionAnswering);
  EXPECT_EQ(loaded.table->read(0).answers, (std::vector<Answer>{{"me", 7}}));
  EXPECT_TRUE(loaded.table->read(1).answers.empty());
}

TEST_F(TfdsFolderTest, EvaluationReadsTheTestSplit) {
  EXPECT_THAT(texts(load_table(*storage_, {.role = "eval", .path = scratch_ / "ag"})),
              ElementsAre("c"));
  EXPECT_THAT(texts(load("ag/*-test.tfrecord*")), ElementsAre("c"));
}

TEST_F(TfdsFolderTest, AClassThatHasNoNameIsBadData) {
  put_records("ag/ag-train.tfrecord-00000-of-00001", {{"a", 2}});
  EXPECT_THAT(
      [&] { load("ag"); },
      ThrowsCode(Code::kBadData, "feature \"label\": 2 is not the number of one of 2 classes"));
  put_records("ag/ag-train.tfrecord-00000-of-00001", {{"a", -1}});
  EXPECT_THAT([&] { load("ag"); }, ThrowsCode(Code::kBadData, "\"label\" is missing"));
}

TEST_F(TfdsFolderTest, IgnoredClassesNeedNoName) {
  put_records("ag/ag-test.tfrecord-00000-of-00001", {{"c", -1}, {"d", 2}});
  EXPECT_THAT(texts(load_table(*storage_, {.role = "predict",
                                           .path = scratch_ / "ag",
                                           .rules = {.need = LabelNeed::kIgnored}})),
              ElementsAre("c", "d"));
}

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
