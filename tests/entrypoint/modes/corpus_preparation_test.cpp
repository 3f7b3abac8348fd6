#include "entrypoint/modes/corpus_preparation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/formats/token_shard.h"
#include "storage/local_storage.h"
#include "tests/support/letter_tokenizer.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/throws_code.h"
#include "trainer/text/tokenizer.h"

namespace berth {
namespace {

using testing::ElementsAre;

class Texts : public testing::Test {
 protected:
  void write(const std::string& name, std::string_view text) {
    std::filesystem::create_directories((scratch_.path() / name).parent_path());
    write_text(scratch_.path() / name, text);
  }
  std::vector<std::string> read(const std::string& path) {
    data_.train_data_file = scratch_ / path;
    CorpusTexts texts(*storage_, data_);
    std::vector<std::string> all;
    places_.clear();
    for (DocumentBatch batch; texts.read(batch);) {
      for (size_t i = 0; i < batch.size; ++i) {
        all.push_back(batch.texts[i]);
        places_.push_back(texts.where(batch.places[i]).substr(scratch_.path().string().size() + 1));
      }
    }
    skipped_ = texts.skipped_rows();
    return all;
  }

  ScratchDirectory scratch_;
  std::unique_ptr<Storage> storage_ = make_local_storage();
  DataOptions data_;
  std::vector<std::string> places_;
  int64_t skipped_ = 0;
};

TEST_F(Texts, ALineOfATextFileIsADocument) {
  write("a.txt", "one\n\n  \ntwo\r\nthree");
  EXPECT_THAT(read("a.txt"), ElementsAre("one", "two", "three"));
  EXPECT_THAT(places_, ElementsAre("a.txt, row 1", "a.txt, row 4", "a.txt, row 5"));
}

TEST_F(Texts, ALongLineIsSeveralDocuments) {
  std::string line;
  while (line.size() < 2'000'000) line += "some words ";
  write("a.txt", "one\n" + line + "\ntwo");
  const std::vector<std::string> found = read("a.txt");
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(found[1] + found[2], line);
  EXPECT_THAT(places_, ElementsAre("a.txt, row 1", "a.txt, row 2", "a.txt, row 2", "a.txt, row 3"));
}

TEST_F(Texts, ARowOfATableIsADocument) {
  write("a.jsonl", "{\"id\":1,\"text\":\"one\\nline\"}\n{\"id\":2}\n{\"id\":3,\"text\":\"two\"}\n");
  EXPECT_THAT(read("a.jsonl"), ElementsAre("one\nline", "two"));
  EXPECT_THAT(places_, ElementsAre("a.jsonl, row 1", "a.jsonl, row 3"));
}

TEST_F(Texts, TwoColumnsMakeOneDocument) {
  write("a.csv", "title,body,label\nT1,B1,x\n,B2,x\nT3,,x\n,,x\n");
  data_.text_column = "title";
  data_.text_pair_column = "body";
  EXPECT_THAT(read("a.csv"), ElementsAre("T1\nB1", "B2", "T3"));
  data_.text_column = "nothing";
  EXPECT_THAT([&] { read("a.csv"); }, ThrowsCode(Code::kBadData, "a.csv: there is no column"));
}

TEST_F(Texts, FilesFollowEachOther) {
  write("dir/b.txt", "three\n");
  write("dir/a.jsonl", "{\"text\":\"one\"}\n{\"text\":\"two\"}\n");
  write("dir/README.md", "not a document");
  EXPECT_THAT(read("dir"), ElementsAre("one", "two", "three"));
  EXPECT_THAT(read("dir/*.txt"), ElementsAre("three"));
  EXPECT_THAT(read("dir/README.md"), ElementsAre("not a document"));
}

TEST_F(Texts, BadRowsAreLeftOutAsOftenAsAllowed) {
  write("a.txt", "one\n\xFF\ntwo\n\xFE\n");
  EXPECT_THAT([&] { read("a.txt"); }, ThrowsCode(Code::kBadData, "line 2"));
  data_.skip_bad_rows = 2;
  EXPECT_THAT(read("a.txt"), ElementsAre("one", "two"));
  EXPECT_EQ(skipped_, 2);
}

TEST_F(Texts, OfTokenIdsAreRefused) {
  write("a.tf_record", "");
  EXPECT_THAT([&] { read("a.tf_record"); }, ThrowsCode(Code::kBadData, "TFRecords"));
}

TEST_F(Texts, ComeInBatchesOfBoundedSize) {
  std::string text;
  for (int i = 0; i < 40'000; ++i) text += "some words\n";
  write("a.txt", text);
  data_.train_data_file = scratch_ / "a.txt";
  CorpusTexts texts(*storage_, data_);
  DocumentBatch batch;
  size_t documents = 0;
  while (texts.read(batch)) {
    EXPECT_LE(batch.size, CorpusTexts::kBatchDocuments);
    documents += batch.size;
  }
  EXPECT_EQ(documents, 40'000u);
  EXPECT_FALSE(texts.read(batch));
}

std::string line(int64_t number) {
  return std::to_string(number) + std::string(static_cast<size_t>(number * 7919 % 1500), 'x');
}

class Spilled : public testing::Test {
 protected:
  void append(int64_t count) {
    for (int64_t i = 0; i < count; ++i) lines_.append(line(i));
  }
  std::string read(int64_t number) {
    std::vector<std::byte> bytes;
    lines_.read(number, bytes);
    return std::string(as_text(bytes));
  }

  SpilledLines lines_;
};

TEST_F(Spilled, LinesAreReadInOrder) {
  append(5000);
  EXPECT_EQ(lines_.size(), 5000);
  for (int64_t i = 0; i < 5000; ++i) ASSERT_EQ(read(i), line(i) + "\n");
}

TEST_F(Spilled, LinesAreReadAgainFromAnyPlace) {
  append(5000);
  for (const int64_t first : {0, 4999, 1023, 1024, 1025, 0, 0, 2500}) {
    for (int64_t i = first; i < std::min<int64_t>(first + 20, 5000); ++i) {
      ASSERT_EQ(read(i), line(i) + "\n");
    }
  }
}

TEST_F(Spilled, ALineMayBeLongOrEmpty) {
  lines_.append("");
  lines_.append(std::string(5'000'000, 'y'));
  lines_.append("");
  EXPECT_EQ(read(0), "\n");
  EXPECT_EQ(read(1), std::string(5'000'000, 'y') + "\n");
  EXPECT_EQ(read(2), "\n");
}

class Packing : public testing::Test {
 protected:
  // Packs the texts in batches and returns the files, by their names.
  std::vector<std::string> pack(const std::vector<std::string>& texts, int threads, size_t batch,
                                uint64_t shard_bytes, const std::string& folder) {
    ThreadPool pool(threads);
    TokenPacker packer(tokenizer_, 8, pool);
    for (size_t begin = 0; begin < texts.size(); begin += batch) {
      packer.add(std::span(texts).subspan(begin, std::min(batch, texts.size() - begin)));
    }
    const auto plan = packer.plan(shard_bytes);
    const Uri directory = Uri::parse(scratch_ / folder);
    packer.write(*storage_, directory, plan, [] {});
    std::vector<std::string> files;
    for (const std::string& name : token_shard_names(plan.size())) {
      files.push_back(read_text(scratch_.path() / folder / name));
    }
    return files;
  }

  LetterTokenizer tokenizer_;
  ScratchDirectory scratch_;
  std::unique_ptr<Storage> storage_ = make_local_storage();
};

TEST_F(Packing, AShardHoldsTheSequencesAndSaysWhatMadeThem) {
  const auto files = pack({"ab", "c"}, 1, 10, 1000, "one");
  ASSERT_EQ(files.size(), 1u);
  const TokenShard shard(as_bytes(files[0]));
  std::vector<int32_t> ids;
  shard.read(0, ids);
  EXPECT_THAT(ids, ElementsAre(1, 3, 4, 2));
  shard.read(1, ids);
  EXPECT_THAT(ids, ElementsAre(1, 5, 2));
  EXPECT_EQ(shard.info().vocab_size, 29u);
  EXPECT_EQ(shard.info().max_seq_length, 8u);
  EXPECT_EQ(shard.info().tokenizer_checksum, tokenizer_checksum(tokenizer_));
}

TEST_F(Packing, ALongDocumentBecomesSeveralSequences) {
  const auto files = pack({"abcdefgh", "z"}, 1, 10, 1000, "long");
  const TokenShard shard(as_bytes(files[0]));
  ASSERT_EQ(shard.sequences(), 3u);
  std::vector<int32_t> ids;
  shard.read(0, ids);
  EXPECT_THAT(ids, ElementsAre(1, 3, 4, 5, 6, 7, 8, 2));
  shard.read(1, ids);
  EXPECT_THAT(ids, ElementsAre(1, 9, 10, 2));
}

TEST_F(Packing, ThreadsAndBatchesChangeNothing) {
  std::vector<std::string> texts;
  for (int i = 0; i < 3000; ++i) {
    texts.emplace_back(static_cast<size_t>(1 + i % 6), static_cast<char>('a' + i * 7 % 26));
  }
  const auto expected = pack(texts, 1, 3000, 4000, "a");
  EXPECT_GT(expected.size(), 5u);
  EXPECT_EQ(pack(texts, 3, 100, 4000, "b"), expected);
  uint64_t sequences = 0;
  for (const std::string& file : expected) {
    EXPECT_LE(file.size(), 4000u + 84);
    const TokenShard shard(as_bytes(file));
    sequences += shard.sequences();
    EXPECT_EQ(shard.info().preparation, TokenShard(as_bytes(expected[0])).info().preparation);
  }
  EXPECT_EQ(sequences, TokenShard(as_bytes(expected[0])).info().total_sequences);
}

TEST_F(Packing, OtherShardsInTheDirectoryAreRefused) {
  pack({"ab", "cd", "ef"}, 1, 10, 30, "out");
  const Uri directory = Uri::parse(scratch_ / "out");
  refuse_other_shards(*storage_, directory, token_shard_names(2));
  EXPECT_THAT([&] { refuse_other_shards(*storage_, directory, token_shard_names(1)); },
              ThrowsCode(Code::kIncompatible, "train-00000-of-00002.tokens"));
}

TEST(TokenizerChecksum, DiffersWhereTokensOrTheirIdsDo) {
  class Other final : public Tokenizer {
   public:
    int32_t vocab_size() const override { return inner_.vocab_size(); }
    Encoding encode(std::string_view text, std::optional<std::string_view> pair,
                    const EncodeOptions& options) const override {
      return inner_.encode(encodes_less ? "" : text, pair, options);
    }
    std::string token(int32_t id) const override { return id == renamed ? "!" : inner_.token(id); }
    std::vector<File> files() const override { return {}; }
    bool encodes_less = false;
    int32_t renamed = -1;

   private:
    LetterTokenizer inner_;
  };
  Other other;
  const uint32_t same = tokenizer_checksum(other);
  EXPECT_EQ(same, tokenizer_checksum(LetterTokenizer()));
  other.renamed = 28;
  EXPECT_NE(tokenizer_checksum(other), same);
  other.renamed = -1;
  other.encodes_less = true;
  EXPECT_NE(tokenizer_checksum(other), same);
}

}  // namespace
}  // namespace berth
