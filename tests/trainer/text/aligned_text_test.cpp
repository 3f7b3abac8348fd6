#include "trainer/text/aligned_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth {
namespace {

using testing::ElementsAre;

std::vector<Span> origins_of(const AlignedText& text) {
  std::vector<Span> origins;
  for (size_t i = 0; i < text.text().size(); ++i) origins.push_back(text.origin(i, i + 1));
  return origins;
}

TEST(Origins, AreThoseThatWereAddedInWhateverOrderTheyAreAskedFor) {
  const std::vector<std::pair<size_t, Span>> added = {
      {1, {4, 5}}, {1, {5, 6}}, {1, {6, 7}}, {1, {6, 7}},  {3, {7, 9}},   {2, {7, 9}},
      {1, {0, 0}}, {1, {8, 9}}, {1, {8, 9}}, {1, {9, 10}}, {2, {10, 11}}, {1, {11, 12}}};
  Origins origins;
  std::vector<Span> expected;
  for (const auto& [count, origin] : added) {
    origins.add(count, origin);
    expected.insert(expected.end(), count, origin);
  }
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(origins.of(i), expected[i]) << i;
  for (size_t i = expected.size(); i-- > 0;) EXPECT_EQ(origins.of(i), expected[i]) << i;
  for (size_t i = 0; i < 50; ++i) {
    const size_t place = i * 7 % expected.size();
    EXPECT_EQ(origins.of(place), expected[place]) << place;
  }
}

TEST(Rewriting, WhatStaysAsItIsIsNotCopied) {
  const std::string text = "a\u00e9b";
  AlignedText aligned(text, 10, true);
  Rewriting same(aligned);
  for (const char32_t c : {U'a', U'\u00e9', U'b'}) same.add({c, 0});
  same.finish();
  EXPECT_EQ(aligned.text().data(), text.data());
  Rewriting kept(aligned);
  kept.keep(0, 1);
  kept.keep(1, 4);
  kept.finish();
  EXPECT_EQ(aligned.text().data(), text.data());
  EXPECT_THAT(origins_of(aligned),
              ElementsAre(Span{10, 11}, Span{11, 13}, Span{11, 13}, Span{13, 14}));
}

TEST(Rewriting, ChangedCharactersHaveTheOriginsOfThoseTheyReplace) {
  AlignedText text("abcd", 0, true);
  Rewriting rewriting(text);
  rewriting.add({U'a', 0});
  rewriting.add({U'X', -1});  // for "bc"
  rewriting.add({U'Y', 1});
  rewriting.add({U'd', 0});
  rewriting.finish();
  EXPECT_EQ(text.text(), "aXYd");
  EXPECT_THAT(origins_of(text), ElementsAre(Span{0, 1}, Span{1, 2}, Span{2, 3}, Span{3, 4}));
}

TEST(Rewriting, PartsAreKeptInsertedAndLeftOut) {
  AlignedText text("abcdef", 0, true);
  Rewriting rewriting(text);
  rewriting.keep(0, 2);
  rewriting.insert("--", 3);
  rewriting.keep(4, 5);
  rewriting.finish();
  EXPECT_EQ(text.text(), "ab--e");
  EXPECT_THAT(origins_of(text),
              ElementsAre(Span{0, 1}, Span{1, 2}, Span{3, 4}, Span{3, 4}, Span{4, 5}));
  Rewriting nothing(text);
  nothing.finish();
  EXPECT_EQ(text.text(), "");
}

}  // namespace
}  // namespace berth
