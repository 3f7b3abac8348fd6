#include "entrypoint/flags/help.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "entrypoint/flags/flag_rules.h"
#include "entrypoint/flags/flag_table.h"
#include "entrypoint/flags/flags.h"
#include "entrypoint/flags/foreign/foreign_flag.h"
#include "storage/base/json.h"
#include "storage/base/text.h"

namespace berth {
namespace {

using testing::HasSubstr;

TEST(Help, ShowsEveryVisibleFlagWithItsDefault) {
  const std::string help = help_text(100);
  for (const Flag& flag : flag_table()) {
    if (flag.group == FlagGroup::kHidden) {
      EXPECT_THAT(help, Not(HasSubstr("--" + flag.name)));
    } else {
      EXPECT_THAT(help, HasSubstr("\n  --" + flag.name));
    }
  }
  EXPECT_THAT(help, HasSubstr("(default: 0.1)"));
  EXPECT_THAT(help, HasSubstr("--train_batch_size]"));
}

TEST(Help, BeginsWithAnExampleAndEndsWithExitCodes) {
  const std::string help = help_text(100);
  EXPECT_THAT(help.substr(0, 300), HasSubstr("berth --train-data-file train.csv"));
  EXPECT_THAT(help.substr(0, 300), HasSubstr("berth predict"));
  EXPECT_THAT(
      help, HasSubstr("  143   stopped by SIGTERM or SIGINT; saved if the time was sufficient\n"));
}

TEST(Help, FitsTheWidth) {
  for (const int width : {60, 80, 100}) {
    std::istringstream lines(help_text(width));
    for (std::string line; std::getline(lines, line);) {
      if (line.find("berth --train") == std::string::npos) {
        EXPECT_LE(line.size(), static_cast<size_t>(width)) << line;
      }
    }
  }
}

TEST(HelpOfAMode, HasAnExampleThatParsesAndWhoseFlagsItShows) {
  for (const ModeTraits& mode : mode_table()) {
    const std::string help = help_text(100, mode.mode);
    EXPECT_THAT(help, testing::StartsWith(cat("berth ", mode.name, " ")));
    EXPECT_THAT(help, HasSubstr(cat("\n  ", mode.example, "\n")));
    std::vector<std::string> words = parted(mode.example, " ");
    std::vector<const char*> arguments;
    for (size_t i = 1; i < words.size(); ++i) arguments.push_back(words[i].c_str());
    const CommandLine parsed = parse_flags(arguments, Platform{});
    EXPECT_EQ(parsed.settings.mode, mode.mode) << mode.example;
    for (const std::string& flag : parsed.given) {
      EXPECT_TRUE(flag == "mode" || help.find(cat("\n  --", flag)) != help.npos) << mode.name;
    }
  }
}

TEST(HelpOfAMode, ShowsTheFlagsThatItUsesAndNoOthers) {
  for (const ModeTraits& mode : mode_table()) {
    Settings settings;
    settings.mode = mode.mode;
    for (const Flag& flag : flag_table()) {
      const bool is_needed = mode.needs_any(flag.role.need);
      EXPECT_TRUE(!is_needed || flag.role.is_used(settings)) << mode.name << " " << flag.name;
    }
  }
  const std::string predict = help_text(100, Mode::kPredict);
  EXPECT_THAT(predict, HasSubstr("\n  --text-column"));
  EXPECT_THAT(predict, Not(HasSubstr("\n  --learning-rate")));
  const std::string heartbeat = help_text(100, Mode::kHeartbeat);
  EXPECT_THAT(heartbeat, HasSubstr("\nTokenizing, inspecting, converting:\n  --max-age"));
  EXPECT_THAT(heartbeat, Not(HasSubstr("Data:")));
}

TEST(HelpOfAMode, IsAskedForByItsName) {
  const auto mode_of = [](const std::vector<const char*>& arguments) {
    return parse_flags(arguments, Platform{}).help_mode;
  };
  EXPECT_EQ(mode_of({"predict", "--help"}), Mode::kPredict);
  EXPECT_EQ(mode_of({"train-tokenizer", "-h"}), Mode::kTrainTokenizer);
  EXPECT_EQ(mode_of({"--help"}), std::nullopt);
}

TEST(Help, EveryNameMeansOneFlag) {
  std::set<std::string> names;
  const auto add = [&](const std::string& name) { EXPECT_TRUE(names.insert(name).second) << name; };
  for (const Flag& flag : flag_table()) {
    add(flag.name);
    for (const std::string& alias : flag.aliases) add(alias);
  }
  for (const ForeignFlag& flag : foreign_flags()) {
    std::string name(flag.name);
    std::ranges::replace(name, '_', '-');
    add(name);
  }
  for (const std::string& name : names) {
    EXPECT_FALSE(names.contains("no" + name)) << name;
    EXPECT_FALSE(names.contains("no-" + name)) << name;
  }
}

TEST(Help, JsonHasEveryVisibleFlagAndEveryTranslatedOne) {
  const Json help = parse_json(help_json());
  ASSERT_TRUE(help.is_object());
  std::map<std::string, Json> flags;
  for (const Json& flag : help.at("flags")) flags[flag.at("name").get<std::string>()] = flag;
  for (const Flag& flag : flag_table()) {
    EXPECT_EQ(flags.contains(flag.name), flag.group != FlagGroup::kHidden) << flag.name;
  }
  EXPECT_EQ(flags.at("batch-size").at("aliases"), Json::array({"train-batch-size"}));
  EXPECT_EQ(flags.at("batch-size").at("value"), "N");
  EXPECT_EQ(flags.at("batch-size").at("switch"), false);
  EXPECT_EQ(flags.at("recompute").at("switch"), true);
  EXPECT_EQ(flags.at("validation-split").at("default"), "0.1");
  EXPECT_EQ(flags.at("validation-split").at("group"), "Data");
  const auto translated = help.at("translated").get<std::map<std::string, std::string>>();
  EXPECT_EQ(translated.at("per-device-train-batch-size"), "");
  EXPECT_EQ(translated.at("train-epochs"), "epochs");
  for (const auto& [name, flag] : translated) {
    EXPECT_FALSE(flags.contains(name)) << name;
    EXPECT_TRUE(flag.empty() || flags.contains(flag)) << name;
  }
}

TEST(Help, VersionIsThatOfTheProject) {
  EXPECT_THAT(version_text(), testing::StartsWith("berth 0."));
}

// What lies on the page `name` of docs/ between the markers `<!-- MARK -->` and `<!-- /MARK -->`.
std::string between_marks(const std::string& name, const std::string& mark) {
  std::ifstream file(cat(BERTH_ROOT "/docs/", name));
  const std::string page(std::istreambuf_iterator<char>(file), {});
  const std::string begin = cat("<!-- ", mark, " -->\n"), end = cat("<!-- /", mark, " -->");
  const size_t first = page.find(begin), last = page.find(end);
  if (first == std::string::npos || last == std::string::npos) return "no marks on " + name;
  const size_t start = first + begin.size();
  return page.substr(start, last - start);
}

TEST(Docs, ShowTheCurrentFlags) {
  EXPECT_EQ(between_marks("flags.md", "flags"), help_markdown())
      << "put the output of `berth --help-markdown` between the markers of docs/flags.md";
}

TEST(Docs, ShowWhatRunsOnWhichDevice) {
  EXPECT_EQ(between_marks("devices.md", "devices"), devices_markdown())
      << "put this table between the markers of docs/devices.md";
}

TEST(Docs, ShowWhichTaskHeedsWhichFlag) {
  EXPECT_EQ(between_marks("tasks.md", "task flags"), task_flags_markdown())
      << "put this table between the markers of docs/tasks.md";
}

}  // namespace
}  // namespace berth
