// The table of other programs' flags, against the names that tests/record/record_foreign_flags.py
// read from the programs themselves.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include "entrypoint/flags/flag_lookup.h"
#include "entrypoint/flags/foreign/foreign_flag.h"
#include "storage/base/text.h"

namespace berth {
namespace {

using testing::HasSubstr;

// Maps each family to its names.
std::map<std::string, std::set<std::string>> recorded_names() {
  std::ifstream file(BERTH_TESTDATA "/foreign_flags.txt");
  std::map<std::string, std::set<std::string>> names;
  for (std::string family, name; file >> family >> name;) names[family].insert(name);
  return names;
}

TEST(ForeignFlags, EveryFlagOfThePeersHasAMeaning) {
  const auto names = recorded_names();
  ASSERT_EQ(names.size(), 4u);
  for (const auto& [family, flags] : names) {
    for (const std::string& name : flags) {
      const bool known = find_flag_spelling(name) || find_foreign_flag(name) != nullptr;
      EXPECT_TRUE(known) << family << " has --" << name;
    }
  }
}

TEST(ForeignFlags, EveryRowIsAFlagOfAPeer) {
  std::set<std::string> all;
  for (const auto& [family, flags] : recorded_names()) all.insert(flags.begin(), flags.end());
  for_each_foreign_flag([&](const ForeignFlag& flag) {
    EXPECT_TRUE(all.contains(std::string(flag.name))) << flag.name;
    EXPECT_FALSE(find_flag_spelling(flag.name)) << flag.name << " is berth's own";
  });
}

TEST(ForeignFlags, EveryRowSaysWhatBecomesOfIt) {
  for_each_foreign_flag([&](const ForeignFlag& flag) {
    EXPECT_EQ(flag.fate == Fate::kRule, flag.rule != nullptr) << flag.name;
    EXPECT_EQ(flag.fate == Fate::kRule, flag.text.empty()) << flag.name;
    EXPECT_TRUE(flag.accepted.empty() || flag.fate == Fate::kRefused) << flag.name;
    if (flag.fate == Fate::kSame) {
      EXPECT_TRUE(find_flag_spelling(flag.text)) << flag.name;
    } else if (flag.fate == Fate::kMeans) {
      ASSERT_TRUE(flag.text.starts_with("--")) << flag.name;
      const std::string_view own = flag.text.substr(2, flag.text.find('=') - 2);
      EXPECT_TRUE(find_flag_spelling(own)) << flag.name;
      EXPECT_EQ(flag.form, Form::kSwitch) << flag.name;
    }
  });
}

// Advice that names a flag must name one that exists.
TEST(ForeignFlags, SentencesNameFlagsThatExist) {
  for_each_foreign_flag([&](const ForeignFlag& flag) {
    for (size_t at = 0; (at = flag.text.find("--", at)) != std::string_view::npos; at += 2) {
      const size_t end = flag.text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_", at);
      const std::string_view name = flag.text.substr(at + 2, end - at - 2);
      const bool known = name == "help" || find_flag_spelling(name) || find_foreign_flag(name);
      EXPECT_TRUE(known) << flag.name << " speaks of --" << name;
    }
  });
}

TEST(ForeignFlags, DashesAndUnderscoresAreTheSame) {
  ASSERT_NE(find_foreign_flag("push-to-hub"), nullptr);
  EXPECT_EQ(find_foreign_flag("push-to-hub"), find_foreign_flag("push_to_hub"));
  EXPECT_EQ(find_foreign_flag("push"), nullptr);
}

}  // namespace
}  // namespace berth
