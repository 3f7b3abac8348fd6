#include "storage/base/error.h"

#include <gtest/gtest.h>

#include <set>

namespace berth {
namespace {

constexpr Code kAllCodes[] = {
    Code::kInternal,     Code::kUsage,        Code::kBadData, Code::kCorrupt,     Code::kNotFound,
    Code::kNotPermitted, Code::kIncompatible, Code::kInUse,   Code::kUnavailable, Code::kNoSpace,
    Code::kDiverged,     Code::kMemory,       Code::kStopped};

TEST(Error, IsOneSentenceOfWhereWhatAndHint) {
  const Error error(Code::kNotFound, "no config.json", "models/tiny", "pass --model-config");
  EXPECT_STREQ(error.what(), "models/tiny: no config.json; pass --model-config");
  EXPECT_EQ(error.problem(), "no config.json");
  EXPECT_EQ(error.where(), "models/tiny");
  EXPECT_EQ(error.hint(), "pass --model-config");
}

TEST(Error, LeavesOutWhatIsNotGiven) {
  EXPECT_STREQ(Error(Code::kUsage, "no data file").what(), "no data file");
  EXPECT_STREQ(Error(Code::kUsage, "no data file", "", "pass one").what(),
               "no data file; pass one");
}

TEST(Error, GetsItsPlaceFromOutside) {
  const Error inner(Code::kCorrupt, "ends early", "byte 7", "fetch it again");
  const Error outer = inner.at("a.bin").at("model.tar");
  EXPECT_STREQ(outer.what(), "model.tar: a.bin: byte 7: ends early; fetch it again");
  EXPECT_EQ(outer.code(), Code::kCorrupt);
  EXPECT_STREQ(Error(Code::kCorrupt, "x").at("y").what(), "y: x");
}

TEST(Error, CodesHaveTheExitCodesThatScriptsRelyOn) {
  EXPECT_EQ(exit_code(Code::kInternal), 1);
  EXPECT_EQ(exit_code(Code::kUsage), 2);
  EXPECT_EQ(exit_code(Code::kBadData), 3);
  EXPECT_EQ(exit_code(Code::kCorrupt), 3);
  EXPECT_EQ(exit_code(Code::kNotFound), 4);
  EXPECT_EQ(exit_code(Code::kNotPermitted), 4);
  EXPECT_EQ(exit_code(Code::kIncompatible), 5);
  EXPECT_EQ(exit_code(Code::kInUse), 6);
  EXPECT_EQ(exit_code(Code::kUnavailable), 10);
  EXPECT_EQ(exit_code(Code::kNoSpace), 10);
  EXPECT_EQ(exit_code(Code::kDiverged), 13);
  EXPECT_EQ(exit_code(Code::kMemory), 14);
  EXPECT_EQ(exit_code(Code::kStopped), 143);
}

TEST(Error, EveryCodeHasItsOwnReason) {
  std::set<std::string_view> reasons;
  for (const Code code : kAllCodes) EXPECT_TRUE(reasons.insert(reason(code)).second);
}

}  // namespace
}  // namespace berth
