// The table of other programs' flags, against the names that tests/record/record_foreign_flags.py
// read from the programs themselves.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>

#include "entrypoint/flags/flag_table.h"
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
  for (const ForeignFlag& flag : foreign_flags()) {
    EXPECT_TRUE(all.contains(std::string(flag.name))) << flag.name;
    EXPECT_FALSE(find_flag_spelling(flag.name)) << flag.name << " is berth's own";
  }
}

TEST(ForeignFlags, EveryRowSaysWhatBecomesOfIt) {
  for (const ForeignFlag& flag : foreign_flags()) {
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
  }
}

// Advice that names a flag must name one that exists.
TEST(ForeignFlags, SentencesNameFlagsThatExist) {
  for (const ForeignFlag& flag : foreign_flags()) {
    for (size_t at = 0; (at = flag.text.find("--", at)) != std::string_view::npos; at += 2) {
      const size_t end = flag.text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_", at);
      const std::string_view name = flag.text.substr(at + 2, end - at - 2);
      const bool known = name == "help" || find_flag_spelling(name) || find_foreign_flag(name);
      EXPECT_TRUE(known) << flag.name << " speaks of --" << name;
    }
  }
}

// What docs/training-arguments.md says of each argument: "`--flag`", "no effect" or "refused", and
// a note. A row may name several arguments.
std::map<std::string, std::pair<std::string, std::string>> documented_arguments() {
  const std::regex row(R"(\| (`.*`) \| (.*?) \|(.*) \|)"), name("`(\\w+)`");
  std::map<std::string, std::pair<std::string, std::string>> arguments;
  std::ifstream page(BERTH_ROOT "/docs/training-arguments.md");
  for (std::string line; std::getline(page, line);) {
    std::smatch cells;
    if (!std::regex_match(line, cells, row)) continue;
    const std::string names = cells[1];
    const std::string note = cells[3].length() == 0 ? "" : cells[3].str().substr(1);
    for (std::sregex_iterator it(names.begin(), names.end(), name), end; it != end; ++it) {
      const bool is_new = arguments.try_emplace((*it)[1], cells[2], note).second;
      EXPECT_TRUE(is_new) << (*it)[1] << " stands twice on the page";
    }
  }
  return arguments;
}

// What the page must say of an argument; empty where it has words of its own, which name a flag.
std::pair<std::string, std::string> meaning_of(const std::string& name) {
  const auto flag = [](std::string text) {
    std::ranges::replace(text, '=', ' ');
    return "`" + text + "`";
  };
  if (const auto own = find_flag_spelling(name)) return {flag("--" + own->flag->name), ""};
  const ForeignFlag& foreign = *find_foreign_flag(name);
  const std::string text(foreign.text);
  switch (foreign.fate) {
    case Fate::kSame:
      return {flag("--" + text), ""};
    case Fate::kMeans:
      return {flag(text), ""};
    case Fate::kIgnored:
      return {"no effect", text};
    case Fate::kRefused:
      return {"refused", text};
    case Fate::kRule:
      break;
  }
  return {"", ""};
}

TEST(ForeignFlags, ThePageOfTrainingArgumentsSaysWhatBecomesOfEach) {
  auto documented = documented_arguments();
  const std::set<std::string> names = recorded_names()["trainer"];
  for (const std::string& name : names) {
    ASSERT_TRUE(documented.contains(name)) << "docs/training-arguments.md lacks " << name;
    const auto [is, note] = documented.extract(name).mapped();
    const auto [meant, text] = meaning_of(name);
    if (meant.empty()) {
      EXPECT_TRUE(is == "default" || is.starts_with("`--")) << name << ": " << is;
    } else {
      EXPECT_EQ(is, meant) << name;
    }
    EXPECT_TRUE(note.starts_with(text))
        << name << ": the note is \"" << note << "\" and the program says \"" << text << "\"";
  }
  EXPECT_TRUE(documented.empty()) << documented.begin()->first << " is no argument";
}

TEST(ForeignFlags, DashesAndUnderscoresAreTheSame) {
  ASSERT_NE(find_foreign_flag("push-to-hub"), nullptr);
  EXPECT_EQ(find_foreign_flag("push-to-hub"), find_foreign_flag("push_to_hub"));
  EXPECT_EQ(find_foreign_flag("push"), nullptr);
}

}  // namespace
}  // namespace berth
