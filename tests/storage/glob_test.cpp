#include "storage/glob.h"

#include <gtest/gtest.h>

#include <string>

namespace berth {
namespace {

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
