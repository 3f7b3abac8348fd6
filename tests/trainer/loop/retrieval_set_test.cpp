#include "trainer/loop/retrieval_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "storage/archived_storage.h"
#include "storage/local_storage.h"
#include "tests/support/captured_log.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/tar_bytes.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

constexpr const char* kCorpusLines =
    "{\"_id\": \"b\", \"title\": \"Tea\", \"text\": \"is drunk hot\", \"metadata\": {}}\n"
    "{\"_id\": \"a\", \"title\": \"\", \"text\": \" bread is baked \", \"metadata\": {}}\n"
    "{\"_id\": \"c\", \"title\": \"Rain\", \"text\": \"\", \"metadata\": {}}\n";
constexpr const char* kQueryLines =
    "{\"_id\": \"1\", \"text\": \"what is drunk\"}\n"
    "{\"_id\": \"2\", \"text\": \"what is baked\"}\n"
    "{\"_id\": \"3\", \"text\": \"what falls\"}\n";

class RetrievalSetTest : public testing::Test {
 protected:
  RetrievalSetTest() {
    fs::create_directories(scratch_ / "set/qrels");
    write("corpus.jsonl", kCorpusLines);
    write("queries.jsonl", kQueryLines);
    write("qrels/test.tsv", "query-id\tcorpus-id\tscore\n1\tb\t2\n1\ta\t0\n2\ta\t1\n");
  }
  void write(const std::string& name, const std::string& text) {
    write_text(scratch_ / ("set/" + name), text);
  }
  void remove(const std::string& name) { fs::remove_all(scratch_ / ("set/" + name)); }
  std::unique_ptr<RetrievalSet> load() { return load_retrieval_set(*storage_, request_); }

  ScratchDirectory scratch_;
  const std::unique_ptr<Storage> storage_ = make_archived_storage(make_local_storage());
  RetrievalRequest request_{.path = scratch_ / "set", .usual_splits = {"dev", "test"}};
  CapturedLog log_;
};

// The ids and texts of the documents, in order.
std::vector<std::string> documents_of(const RetrievalSet& set) {
  std::vector<std::string> found;
  for (uint32_t i = 0; i < set.documents(); ++i) {
    const Example document = set.document(i);
    found.push_back(document.id + ": " + document.texts[0]);
  }
  return found;
}

TEST_F(RetrievalSetTest, ReadsTheLayoutOfBeir) {
  const auto set = load();
  EXPECT_THAT(documents_of(*set),
              ElementsAre("b: Tea is drunk hot", "a: bread is baked", "c: Rain"));
  EXPECT_THAT(set->places(), ElementsAre(1, 0, 2));
  EXPECT_EQ(set->split(), "test");
  ASSERT_THAT(set->queries(), SizeIs(2));  // the third one is not judged
  EXPECT_EQ(set->queries()[0].text, "what is drunk");
  ASSERT_THAT(set->queries()[0].judgements, SizeIs(2));
  EXPECT_EQ(set->queries()[0].judgements[0].document, 0u);
  EXPECT_EQ(set->queries()[0].judgements[0].grade, 2);
  ASSERT_THAT(set->sources(), SizeIs(3));
  EXPECT_EQ(set->sources()[0].role, "retrieval corpus");
  EXPECT_EQ(set->sources()[0].checksum.size, std::string(kCorpusLines).size());
  EXPECT_THAT(log_.lines(), HasSubstr("retrieval: 2 queries of the split test and 3 passages"));
  EXPECT_THAT(log_.lines(), HasSubstr("1 other"));
  EXPECT_GT(set->memory_bytes(), 0u);
}

TEST_F(RetrievalSetTest, JudgementsNeedNoHeader) {
  write("qrels/test.tsv", "1\tb\t1\n2\ta\t1\n");
  EXPECT_THAT(load()->queries(), SizeIs(2));
  EXPECT_THAT(load()->sources(), SizeIs(3));
  write("qrels/test.tsv", "1\t0\tb\t1\n2\t0\ta\t3\n");  // TREC's four columns
  EXPECT_EQ(load()->queries()[1].judgements[0].grade, 3);
}

// trec_eval reads fields between any blanks.
TEST_F(RetrievalSetTest, JudgementsOfTrecHaveBlanks) {
  remove("qrels");
  for (const char* name : {"qrels.test.tsv", "qrels.test.txt"}) {
    SCOPED_TRACE(name);
    write(name, "1 0 b 1\n2  Q0  a 3\n");
    EXPECT_EQ(load()->queries()[1].judgements[0].grade, 3);
    write(name, "1 0 b 1\n2 a\n");
    EXPECT_THAT([&] { load(); }, ThrowsCode(Code::kBadData, "the line has 1 field, and not 4"));
    remove(name);
  }
}

TEST_F(RetrievalSetTest, TablesMayHaveOtherFormats) {
  remove("corpus.jsonl");
  remove("qrels");
  write("corpus.csv", "id,text\nb,tea\na,bread\n");
  write("qrels.csv", "query_id,doc_id\n1,b\n2,a\n");
  const auto set = load();
  EXPECT_THAT(documents_of(*set), ElementsAre("b: tea", "a: bread"));
  EXPECT_EQ(set->split(), "");
  EXPECT_EQ(set->queries()[0].judgements[0].grade, 1);
}

TEST_F(RetrievalSetTest, JudgementsBesideTheCorpusMayHaveSplits) {
  remove("qrels");
  write("qrels.dev.small.tsv", "1\tb\t1\n");
  write("qrels.test.tsv", "1\tb\t1\n2\ta\t1\n");
  EXPECT_THAT(load()->queries(), SizeIs(2));
  request_.split = "dev.small";
  EXPECT_THAT(load()->queries(), SizeIs(1));
}

TEST_F(RetrievalSetTest, TablesMayBeFoldersOfParts) {
  remove("corpus.jsonl");
  fs::create_directories(scratch_ / "set/corpus");
  write("corpus/corpus-00000-of-00002.csv", "_id,text\nb,tea\n");
  write("corpus/corpus-00001-of-00002.csv", "_id,text\na,bread\n");
  EXPECT_THAT(documents_of(*load()), ElementsAre("b: tea", "a: bread"));
}

TEST_F(RetrievalSetTest, ArchivesAreRead) {
  write_text(scratch_ / "set.tar",
             TarBytes()
                 .file("top/corpus.jsonl", kCorpusLines)
                 .file("top/queries.jsonl", kQueryLines)
                 .file("top/qrels/dev.tsv", "query-id\tcorpus-id\tscore\n1\tb\t1\n")
                 .end());
  request_.path = scratch_ / "set.tar";
  const auto set = load();
  EXPECT_THAT(set->queries(), SizeIs(1));
  EXPECT_EQ(set->split(), "dev");
}

TEST_F(RetrievalSetTest, SplitsAreChosenByNameOrInOrder) {
  write("qrels/dev.tsv", "query-id\tcorpus-id\tscore\n3\tc\t1\n");
  EXPECT_EQ(load()->split(), "dev");
  request_.split = "test";
  EXPECT_EQ(load()->split(), "test");
  request_.split = "train";
  EXPECT_THAT([&] { load(); }, ThrowsCode(Code::kNotFound, "the splits are: dev, test"));
  request_.split = "";
  request_.usual_splits = {};
  EXPECT_THAT([&] { load(); }, ThrowsCode(Code::kUsage, "--eval-retrieval-split"));
}

TEST_F(RetrievalSetTest, WhatIsMissingIsNamed) {
  request_.path = scratch_ / "nowhere";
  EXPECT_THAT([&] { load(); }, ThrowsCode(Code::kNotFound, "no such folder"));
  request_.path = scratch_ / "set";
  remove("qrels");
  EXPECT_THAT([&] { load(); }, ThrowsCode(Code::kNotFound, "no judgements (qrels)"));
  remove("queries.jsonl");
  EXPECT_THAT([&] { load(); }, ThrowsCode(Code::kNotFound, "no queries"));
  remove("corpus.jsonl");
  write("readme.csv", "a,b\n");
  EXPECT_THAT([&] { load(); }, ThrowsCode(Code::kNotFound, "no corpus"));
}

TEST_F(RetrievalSetTest, SeveralSetsAreRefused) {
  fs::create_directories(scratch_ / "set/other");
  write("other/corpus.jsonl", kCorpusLines);
  EXPECT_THAT([&] { load(); }, ThrowsCode(Code::kBadData, "2 retrieval sets"));
}

TEST_F(RetrievalSetTest, EmptyTablesAreRefused) {
  write("corpus.csv", "_id,text\n");
  remove("corpus.jsonl");
  EXPECT_THAT([&] { load(); }, ThrowsCode(Code::kBadData, "the corpus is empty"));
}

TEST_F(RetrievalSetTest, BadRowsAreNamedAndMaySkipped) {
  const auto refuses = [&](const std::string& says) {
    EXPECT_THAT([&] { load(); }, ThrowsCode(Code::kBadData, says));
  };
  const std::string header = "query-id\tcorpus-id\tscore\n1\tb\t1\n";
  write("qrels/test.tsv", header + "9\tb\t1\n");
  refuses("line 3: the query \"9\" is judged, and the queries lack it");
  write("qrels/test.tsv", header + "1\tz\t1\n");
  refuses("the passage \"z\" is judged, and the corpus lacks it");
  write("qrels/test.tsv", header + "1\tb\t0\n");
  refuses("is judged twice for the query \"1\"");
  write("qrels/test.tsv", header + "1\ta\t0.5\n");
  refuses("is not a whole number");
  request_.skip_bad_rows = 1;
  EXPECT_THAT(load()->queries(), SizeIs(1));
  EXPECT_THAT(log_.warnings(), HasSubstr("left out 1 bad row of qrels"));
  request_.skip_bad_rows = 0;
  write("qrels/test.tsv", "query-id\tcorpus-id\tscore\n1\tb\t0\n");
  refuses("no query of the split test has a relevant passage");
  write("corpus.jsonl",
        std::string(kCorpusLines) + "{\"_id\": \"a\", \"title\": \"\", \"text\": \"x\"}\n");
  refuses("the id \"a\" occurs twice");
}

TEST_F(RetrievalSetTest, UnknownColumnsAreNamed) {
  write("queries.jsonl", "{\"key\": \"1\", \"text\": \"x\"}\n");
  EXPECT_THAT([&] { load(); }, ThrowsCode(Code::kBadData, "the ids of queries"));
}

}  // namespace
}  // namespace berth
