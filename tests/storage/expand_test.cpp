#include "storage/expand.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "storage/local_storage.h"
#include "tests/support/bucket_of_files.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

using testing::ElementsAre;

namespace fs = std::filesystem;

bool is_csv(std::string_view name) { return name.ends_with(".csv") || name.ends_with(".csv.gz"); }

// Runs each case once with files of this machine and once with objects of a bucket.
class ExpandTest : public testing::TestWithParam<bool> {
 protected:
  void put(const std::string& name) {
    const fs::path path(scratch_ / ("bucket/" + name));
    fs::create_directories(path.parent_path());
    write_text(path, name);
  }
  std::string root() const { return GetParam() ? "gs://bucket" : scratch_ / "bucket"; }
  Storage& storage() { return GetParam() ? static_cast<Storage&>(bucket_) : *files_; }

  std::vector<std::string> names(const std::string& path) {
    std::vector<std::string> result;
    for (const Uri& uri : expand(storage(), Uri::parse(root() + path), is_csv)) {
      EXPECT_TRUE(storage().stat(uri)) << uri.to_string();
      result.push_back(uri.to_string().substr(root().size() + 1));
    }
    return result;
  }

  ScratchDirectory scratch_;
  std::unique_ptr<Storage> files_ = make_local_storage();
  BucketOfFiles bucket_{*files_, scratch_.path().string()};
};

INSTANTIATE_TEST_SUITE_P(Places, ExpandTest, testing::Bool(),
                         [](const auto& place) { return place.param ? "Objects" : "Files"; });

TEST_P(ExpandTest, AFileIsItself) {
  put("data/a.csv");
  EXPECT_THAT(names("/data/a.csv"), ElementsAre("data/a.csv"));
}

TEST_P(ExpandTest, AFileOfAnyKindIsItselfWhenItIsNamed) {
  put("data/notes");
  put("data/_hidden.csv");
  EXPECT_THAT(names("/data/notes"), ElementsAre("data/notes"));
  EXPECT_THAT(names("/data/_hidden.csv"), ElementsAre("data/_hidden.csv"));
}

TEST_P(ExpandTest, AnExistingNameIsNoPattern) {
  put("data/a*.csv");
  put("data/ab.csv");
  put("data/[1].csv");
  EXPECT_THAT(names("/data/a*.csv"), ElementsAre("data/a*.csv"));
  EXPECT_THAT(names("/data/[1].csv"), ElementsAre("data/[1].csv"));
}

TEST_P(ExpandTest, APatternGivesItsMatchesInOrder) {
  for (const char* name : {"data/train-2.csv", "data/train-10.csv", "data/train-1.csv",
                           "data/eval.csv", "data/more/train-3.csv"}) {
    put(name);
  }
  EXPECT_THAT(names("/data/train-*.csv"),
              ElementsAre("data/train-1.csv", "data/train-10.csv", "data/train-2.csv"));
  EXPECT_THAT(names("/data/train-[12].csv"), ElementsAre("data/train-1.csv", "data/train-2.csv"));
  EXPECT_THAT(names("/data/*/train-?.csv"), ElementsAre("data/more/train-3.csv"));
  EXPECT_THAT(names("/d*/**/train-[23].csv"),
              ElementsAre("data/more/train-3.csv", "data/train-2.csv"));
}

TEST_P(ExpandTest, APatternSkipsHiddenNamesUnlessItNamesThem) {
  for (const char* name : {"data/a.csv", "data/_SUCCESS", "data/.b.csv", "data/_c.csv"}) put(name);
  EXPECT_THAT(names("/data/*"), ElementsAre("data/a.csv"));
  EXPECT_THAT(names("/data/_*.csv"), ElementsAre("data/_c.csv"));
}

TEST_P(ExpandTest, ADirectoryGivesItsDataFilesAtAnyDepth) {
  for (const char* name : {"data/b.csv", "data/a.csv.gz", "data/README.md", "data/more/c.csv",
                           "data/_SUCCESS", "data/_temporary/d.csv", "data/.e.csv"}) {
    put(name);
  }
  for (const char* path : {"/data", "/data/"}) {
    EXPECT_THAT(names(path), ElementsAre("data/a.csv.gz", "data/b.csv", "data/more/c.csv"));
  }
}

TEST_P(ExpandTest, NoMatchIsNotFound) {
  put("data/train.csv");
  EXPECT_THAT([&] { names("/data/nothing-like-it.csv"); },
              ThrowsCode(Code::kNotFound, "data/nothing-like-it.csv: no such file"));
  EXPECT_THAT([&] { names("/data/x*.csv"); }, ThrowsCode(Code::kNotFound, "no file matches"));
  EXPECT_THAT([&] { names("/elsewhere/"); }, ThrowsCode(Code::kNotFound, "no such file"));
}

TEST_P(ExpandTest, ASimilarNameIsSuggested) {
  put("data/train.csv");
  EXPECT_THAT([&] { names("/data/tran.csv"); },
              ThrowsCode(Code::kNotFound, "did you mean " + root() + "/data/train.csv?"));
  EXPECT_THAT([&] { names("/dato"); },
              ThrowsCode(Code::kNotFound, "did you mean " + root() + "/data?"));
  EXPECT_THAT([&] { names("/dato/"); },
              ThrowsCode(Code::kNotFound, "did you mean " + root() + "/data?"));
}

TEST_P(ExpandTest, ADirectoryWithoutDataIsBadData) {
  put("data/README.md");
  EXPECT_THAT([&] { names("/data"); }, ThrowsCode(Code::kBadData, "is a directory"));
}

using ExpandFilesTest = ExpandTest;
INSTANTIATE_TEST_SUITE_P(Place, ExpandFilesTest, testing::Values(false));

TEST_P(ExpandFilesTest, AnEmptyDirectoryIsBadData) {
  fs::create_directories(scratch_ / "bucket/data");
  EXPECT_THAT([&] { names("/data"); }, ThrowsCode(Code::kBadData, "is a directory"));
}

TEST_P(ExpandFilesTest, AFolderInThePlaceOfAFileIsTold) {
  put("words/vocab.txt");
  EXPECT_EQ(similar_name(*files_, Uri::parse(root() + "/words")),
            "it is a folder: name the file in it");
}

TEST_P(ExpandFilesTest, PathsMayStartWhereTheProgramDoes) {
  put("a.csv");
  const fs::path before = fs::current_path();
  fs::current_path(scratch_ / "bucket");
  const auto found = expand(*files_, Uri::parse("*.csv"), is_csv);
  EXPECT_THAT([&] { expand(*files_, Uri::parse("b.csv"), is_csv); },
              ThrowsCode(Code::kNotFound, "did you mean ./a.csv?"));
  fs::current_path(before);
  EXPECT_THAT(found, ElementsAre(Uri::parse("a.csv")));
}

using ExpandObjectsTest = ExpandTest;
INSTANTIATE_TEST_SUITE_P(Place, ExpandObjectsTest, testing::Values(true));

TEST_P(ExpandObjectsTest, OneListingIsEnough) {
  for (int i = 0; i < 20; ++i) put("data/" + std::to_string(i) + ".csv");
  names("/data/*.csv");
  EXPECT_EQ(bucket_.lists, 1);
  names("/data");
  EXPECT_EQ(bucket_.lists, 2);
}

TEST_P(ExpandObjectsTest, TheWholeBucketIsADirectory) {
  put("a.csv");
  put("data/b.csv");
  EXPECT_THAT(names(""), ElementsAre("a.csv", "data/b.csv"));
  EXPECT_THAT(names("/*.csv"), ElementsAre("a.csv"));
}

// Web consoles and Hadoop make an object whose name ends with a slash.
TEST_P(ExpandObjectsTest, TheMarkOfAFolderIsNoFile) {
  put("data/a.csv");
  put("data/mark");
  bucket_.describe = [](Stat& stat) {
    if (stat.name == "gs://bucket/data/mark") stat.name = "gs://bucket/data/";
  };
  EXPECT_THAT(names("/data/*"), ElementsAre("data/a.csv"));
  EXPECT_THAT(names("/data"), ElementsAre("data/a.csv"));
}

bool matches(std::string_view pattern, std::string_view path) {
  return Glob(pattern).matches(path);
}

TEST(Glob, PlainTextMatchesItself) {
  EXPECT_TRUE(matches("a/b.csv", "a/b.csv"));
  EXPECT_FALSE(matches("a/b.csv", "a/b.csv2"));
  EXPECT_FALSE(matches("a/b.csv", "a/b.cs"));
  EXPECT_TRUE(matches("", ""));
}

TEST(Glob, AStarStaysWithinAPart) {
  EXPECT_TRUE(matches("*.csv", "train.csv"));
  EXPECT_TRUE(matches("*.csv", ".csv"));
  EXPECT_FALSE(matches("*.csv", "a/train.csv"));
  EXPECT_TRUE(matches("*/*.csv", "a/train.csv"));
  EXPECT_TRUE(matches("train-*-of-*.csv", "train-00001-of-00002.csv"));
  EXPECT_FALSE(matches("train-*-of-*.csv", "train-00001.csv"));
}

TEST(Glob, AQuestionMarkIsOneCharacter) {
  EXPECT_TRUE(matches("part?.csv", "part1.csv"));
  EXPECT_FALSE(matches("part?.csv", "part.csv"));
  EXPECT_FALSE(matches("part?.csv", "part12.csv"));
  EXPECT_FALSE(matches("a?b", "a/b"));
  EXPECT_TRUE(matches("caf?.csv", "caf\xC3\xA9.csv"));
  EXPECT_TRUE(matches("?", "\xF0\x9F\x98\x80"));
}

TEST(Glob, ASetIsOneOfItsCharacters) {
  EXPECT_TRUE(matches("part[0-3x].csv", "part2.csv"));
  EXPECT_TRUE(matches("part[0-3x].csv", "partx.csv"));
  EXPECT_FALSE(matches("part[0-3x].csv", "part4.csv"));
  EXPECT_TRUE(matches("part[!0-3].csv", "part4.csv"));
  EXPECT_FALSE(matches("part[^0-3].csv", "part1.csv"));
  EXPECT_FALSE(matches("a[!b]c", "a/c"));
  EXPECT_TRUE(matches("[]]", "]"));
  EXPECT_TRUE(matches("[a-]", "-"));
}

TEST(Glob, AnOpenBracketThatNothingClosesIsItself) {
  EXPECT_TRUE(matches("a[b", "a[b"));
  EXPECT_TRUE(matches("*[", "x["));
  EXPECT_FALSE(matches("a[b", "ab"));
}

TEST(Glob, TwoStarsCrossParts) {
  EXPECT_TRUE(matches("**", "a/b/c"));
  EXPECT_TRUE(matches("**/*.csv", "a/b/c.csv"));
  EXPECT_TRUE(matches("**/*.csv", "c.csv"));
  EXPECT_TRUE(matches("a/**/c.csv", "a/c.csv"));
  EXPECT_TRUE(matches("a/**/c.csv", "a/b/b/c.csv"));
  EXPECT_FALSE(matches("a/**/c.csv", "a/xc.csv"));
  EXPECT_TRUE(matches("a**c", "a/b/c"));
}

TEST(Glob, HostilePatternsTakeNoLonger) {
  std::string pattern;
  for (int i = 0; i < 200; ++i) pattern += "*a";
  EXPECT_FALSE(matches(pattern + "b", std::string(2000, 'a')));
  EXPECT_TRUE(matches(pattern, std::string(2000, 'a')));
}

TEST(Glob, WildcardsAreRecognized) {
  EXPECT_TRUE(has_wildcards("a*"));
  EXPECT_TRUE(has_wildcards("a?b"));
  EXPECT_TRUE(has_wildcards("a[b"));
  EXPECT_FALSE(has_wildcards("a]b"));
}

}  // namespace
}  // namespace berth
