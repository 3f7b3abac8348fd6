#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "entrypoint/flags/flags.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

class FlagFileTest : public testing::Test {
 protected:
  CommandLine parse(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"--train-data-file=a.csv", "--job-dir=out"});
    std::vector<const char*> pointers;
    for (const std::string& argument : arguments) pointers.push_back(argument.c_str());
    Platform platform;
    platform.home = testing::TempDir();
    return parse_flags(pointers, platform);
  }
  std::string write(const std::string& text) {
    std::ofstream(file_) << text;
    return file_;
  }
  ~FlagFileTest() override { std::filesystem::remove(file_); }

  const std::string file_ = testing::TempDir() + "flags.txt";
};

TEST_F(FlagFileTest, EachLineIsAFlag) {
  const std::string file = write(
      "# one point of a grid\n"
      "--batch-size=16\r\n"
      "\n"
      "  // as in a tutorial\n"
      "--learning_rate 3e-5\n"
      "--recompute\n"
      "--text-column a b = c");
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"--flagfile", file}, {"--flagfile=" + file}}) {
    const CommandLine line = parse(arguments);
    EXPECT_EQ(line.settings.training.batch_size, 16);
    EXPECT_EQ(line.settings.training.optimization.learning_rate, 3e-5);
    EXPECT_TRUE(line.settings.training.recompute);
    EXPECT_EQ(line.settings.data.text_column, "a b = c");
    EXPECT_THAT(line.notes, testing::ElementsAre("the flags in " + file +
                                                 ": --batch-size=16 --learning_rate 3e-5 "
                                                 "--recompute --text-column a b = c"));
  }
}

TEST_F(FlagFileTest, ItsFlagsStandInPlaceOfIt) {
  const std::string file = write("--batch-size=16\n--do_lower_case true");
  EXPECT_EQ(parse({"--batch-size=4", "--flagfile=" + file}).settings.training.batch_size, 16);
  EXPECT_EQ(parse({"--flagfile=" + file, "--batch-size=4"}).settings.training.batch_size, 4);
  write("");
  EXPECT_EQ(parse({"--batch-size=4", "--flagfile=" + file}).settings.training.batch_size, 4);
}

TEST_F(FlagFileTest, ItMayLieInTheHomeDirectory) {
  write("--batch-size=16");
  EXPECT_EQ(parse({"--flagfile=~/flags.txt"}).settings.training.batch_size, 16);
}

TEST_F(FlagFileTest, WhatIsNoFlagIsRefused) {
  const auto refuses = [&](const std::string& text, const std::string& says) {
    const std::string file = write(text);
    EXPECT_THAT([&] { parse({"--flagfile", file}); }, ThrowsCode(Code::kUsage, says)) << text;
  };
  refuses("--batch-size=2\nbatch-size=3\n", file_ + ": line 2: \"batch-size=3\" is not a flag");
  refuses("--flagfile=other", "cannot name another");
  refuses("--flagfile other", "cannot name another");
  refuses("--batch-sise=2", "--batch-sise");
  refuses("--batch-size=many", "many");
  EXPECT_THAT([&] { parse({"--flagfile"}); }, ThrowsCode(Code::kUsage, "needs a value"));
  EXPECT_THAT([&] { parse({"--flagfile="}); }, ThrowsCode(Code::kUsage, "needs a value"));
  EXPECT_THAT([&] { parse({"--flagfile=" + file_ + ".absent"}); },
              ThrowsCode(Code::kNotFound, "no such file"));
}

}  // namespace
}  // namespace berth
