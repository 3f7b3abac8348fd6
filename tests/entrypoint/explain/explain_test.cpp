#include "entrypoint/explain/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "entrypoint/explain/shell_text.h"
#include "entrypoint/flags/flags.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

Explanation explained(const std::vector<std::string>& words) { return explain(words); }

// A command line of the documentation of another program, and what is expected of it.
struct PeerCommand {
  std::string name, command, explanation;
  bool succeeds = false;
};

std::vector<PeerCommand> peer_commands() {
  std::ifstream file(BERTH_TESTDATA "/peer_commands.txt");
  std::vector<PeerCommand> all;
  std::string* part = nullptr;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("### ")) {
      all.emplace_back().name = line.substr(4);
      part = &all.back().command;
    } else if (line.starts_with("--- ")) {
      all.back().succeeds = line == "--- 0";
      part = &all.back().explanation;
    } else if (part != nullptr) {
      *part += line + '\n';
    }
  }
  for (PeerCommand& command : all) {  // the blank line before the next one
    while (command.explanation.ends_with("\n\n")) command.explanation.pop_back();
  }
  return all;
}

TEST(Explain, CommandsOfOtherProgramsDocumentation) {
  const std::vector<PeerCommand> commands = peer_commands();
  ASSERT_GE(commands.size(), 40u);
  for (const PeerCommand& command : commands) {
    const Explanation explanation = explained({command.command});
    EXPECT_EQ(explanation.text, command.explanation) << command.name;
    EXPECT_EQ(explanation.refused.empty(), command.succeeds) << command.name;
  }
}

// A command line after a public one, its exit code, and parts of its explanation.
struct ExplainedCommand {
  std::string name, devices, command;
  bool succeeds = false;
  std::vector<std::string> has, lacks;
};

std::vector<ExplainedCommand> explained_commands(const std::string& name) {
  std::ifstream file(std::string(BERTH_TESTDATA "/") + name);
  std::vector<ExplainedCommand> all;
  bool in_command = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("### ")) {
      all.emplace_back().name = line.substr(4);
      in_command = true;
    } else if (line.starts_with("--- ")) {
      all.back().succeeds = line == "--- 0";
      in_command = false;
    } else if (all.empty()) {
      continue;
    } else if (in_command && line.starts_with("devices ")) {
      all.back().devices = line.substr(8);
    } else if (in_command) {
      all.back().command += line + '\n';
    } else if (line.starts_with("+ ")) {
      all.back().has.push_back(line.substr(2));
    } else if (line.starts_with("- ")) {
      all.back().lacks.push_back(line.substr(2));
    }
  }
  return all;
}

// The explanation with its line for berth put together again.
std::string joined_lines(std::string text) {
  for (size_t at; (at = text.find(" \\\n  ")) != std::string::npos;) text.replace(at, 5, " ");
  return text;
}

void check_commands(const std::vector<ExplainedCommand>& commands, const ReadFile& read_file) {
  const ExplainOptions options{.devices = {}, .read_file = read_file, .read_head = read_file};
  for (const ExplainedCommand& command : commands) {
    std::vector<std::string> words = {command.command};
    if (!command.devices.empty()) words = {"--devices", command.devices, command.command};
    const Explanation explanation = explain(words, options);
    const std::string text = joined_lines(explanation.text);
    EXPECT_EQ(explanation.refused.empty(), command.succeeds) << command.name << "\n" << text;
    for (const std::string& part : command.has) {
      EXPECT_THAT(text, HasSubstr(part)) << command.name << ": " << part;
    }
    for (const std::string& part : command.lacks) {
      EXPECT_THAT(text, Not(HasSubstr(part))) << command.name;
    }
  }
}

TEST(Explain, CommandsAreTheSameJobOrRefused) {
  const std::vector<ExplainedCommand> commands = explained_commands("explained_commands.txt");
  ASSERT_GE(commands.size() + peer_commands().size(), 120u);
  check_commands(commands, {});
}

TEST(Explain, FilesThatALineNamesAreRead) {
  const std::vector<ExplainedCommand> commands = explained_commands("explained_files.txt");
  ASSERT_GE(commands.size(), 10u);
  check_commands(commands, [](const std::string& path) -> std::optional<std::string> {
    std::ifstream file(BERTH_TESTDATA "/explain_files/" + path);
    if (!file) return std::nullopt;
    return std::string(std::istreambuf_iterator<char>(file), {});
  });
}

TEST(Explain, FilesThatStartNothingAreNamed) {
  const auto read_file = [](const std::string& path) -> std::optional<std::string> {
    std::ifstream file(BERTH_TESTDATA "/explain_files/" + path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const auto explain_file = [&](const std::string& line) {
    explain(std::vector{line}, {.devices = {}, .read_file = read_file});
  };
  EXPECT_THAT([&] { explain_file("autotrain.yml"); },
              ThrowsCode(Code::kUsage, "a configuration of AutoTrain is not read"));
  EXPECT_THAT([&] { explain_file("autotrain --config autotrain.yml"); },
              ThrowsCode(Code::kUsage, "a configuration of AutoTrain is not read"));
  EXPECT_THAT([&] { explain_file("spans.yaml"); },
              ThrowsCode(Code::kUsage, "the file is no manifest, and starts nothing"));
}

// What is printed as the line that does the same must be one that berth accepts.
TEST(Explain, ItsLinesParse) {
  Platform platform;
  platform.home = "/home/ida";
  size_t parsed = 0;
  for (const PeerCommand& command : peer_commands()) {
    if (!command.succeeds) continue;
    const std::string& text = command.explanation;
    for (const ShellCommand& line : shell_commands(text.substr(0, text.find("\n\n") + 1))) {
      ASSERT_EQ(line.words[0], "berth") << command.name;
      std::vector<const char*> arguments;
      for (const std::string& word : line.words) arguments.push_back(word.c_str());
      arguments.erase(arguments.begin());
      if (text.find('$') != std::string::npos) continue;  // a shell has yet to fill it in
      EXPECT_NO_THROW(parse_flags(arguments, platform)) << command.name;
      ++parsed;
    }
  }
  EXPECT_GE(parsed, 25u);
}

// README shows a command between `berth explain '` and a quote, and below it what is printed.
TEST(Readme, ShowsWhatExplainPrints) {
  std::ifstream file(BERTH_ROOT "/README.md");
  ASSERT_TRUE(file) << "no README.md";
  std::string shown;
  bool is_shown = false;
  for (std::string line; std::getline(file, line);) {
    is_shown = is_shown ? line.empty() || line.starts_with("    ")
                        : line.starts_with("    berth explain 'torchrun ");
    if (is_shown) shown += line.empty() ? "\n" : line.substr(4) + "\n";
  }
  const std::string begin = "berth explain '";
  const size_t end = shown.find('\'', begin.size());
  ASSERT_NE(end, std::string::npos) << shown;
  const std::string command = shown.substr(begin.size(), end - begin.size());
  EXPECT_EQ("\n\n" + explained({command}).text + "\n", shown.substr(end + 1));
}

TEST(Explain, WordsAndTextAreTheSame) {
  const Explanation text =
      explained({"python run_ner.py --train_file t.json --output_dir 'a b' --do_train"});
  EXPECT_EQ(text.text, explained({"python", "run_ner.py", "--train_file", "t.json", "--output_dir",
                                  "a b", "--do_train"})
                           .text);
  EXPECT_THAT(text.text, HasSubstr("--job-dir 'a b'"));
  EXPECT_THAT(text.refused, IsEmpty());
}

TEST(Explain, InputsOfSomeModesBelongToNoFlag) {
  const Explanation inspect = explained({"berth --mode inspect 'my file.csv' --json \"$MODEL\""});
  EXPECT_EQ(inspect.text, "berth --mode inspect --json 'my file.csv' \"$MODEL\"\n");
  EXPECT_THAT(inspect.refused, IsEmpty());
  const Explanation fetch =
      explained({"berth", "--mode=fetch", "gs://b/a*.csv", "b.tar", "--export_dir", "data"});
  EXPECT_EQ(fetch.text, "berth --mode fetch --export-dir data 'gs://b/a*.csv' b.tar\n");
  EXPECT_THAT(fetch.refused, IsEmpty());
  EXPECT_EQ(explained({"berth bench"}).text, "berth --mode bench\n");
  EXPECT_EQ(explained({"berth inspect a.csv"}).text, "berth --mode inspect a.csv\n");
  EXPECT_THAT(explained({"berth --mode eval file.csv"}).refused, ElementsAre("file.csv"));
  EXPECT_THAT(explained({"berth --mode inspect --no-such-flag file.csv"}).refused,
              ElementsAre("--no-such-flag"));
}

TEST(Explain, VariablesAreLeftToTheShell) {
  const std::string line =
      "python run_ner.py --do_train --train_file $T --output_dir out --learning_rate $R";
  EXPECT_THAT(explained({line}).text, HasSubstr("--learning-rate \"$R\""));
  EXPECT_THAT(explained({line}).refused, IsEmpty());
  // Among words, the shell has replaced them, and "$R" is what was meant.
  EXPECT_THAT(explained({"run_glue.py", "--do_train", "--learning_rate", "$R"}).refused,
              ElementsAre("--learning-rate"));
}

TEST(Explain, WhatStandsInTheWayIsTold) {
  const Explanation unknown =
      explained({"run_ner.py --do_train --langauge de --num_train_epochs=0 --train_file t x"});
  EXPECT_THAT(unknown.refused, ElementsAre("--langauge", "x", "--epochs"));
  EXPECT_THAT(explained({"run_glue.py absent.json"}).text, HasSubstr("there is no such file"));
  EXPECT_THAT(explained({"train.py --do_train"}).text, HasSubstr("train.py is unknown here"));
  EXPECT_THAT(explained({"run_glue.py --do_train"}).text,
              HasSubstr("this line is refused: --train-data-file is missing"));
  EXPECT_THAT(explained({"berth --train-data-file t --job-dir o --lr-power 2"}).text,
              HasSubstr("this line is refused: --lr-power: the flag changes nothing"));
  EXPECT_THAT(explained({"run_glue.py --epochs"}).text, HasSubstr("the flag needs a value"));
  EXPECT_THAT(unknown.text, HasSubstr("--epochs is left out: "));
}

TEST(Explain, FilesOfFlagsAreNotRead) {
  const Explanation explanation =
      explained({"berth --train-data-file a.csv --job-dir out --flagfile /absent"});
  EXPECT_THAT(explanation.refused, IsEmpty());
  EXPECT_THAT(explanation.text, HasSubstr("--flagfile /absent"));
  EXPECT_THAT(explanation.text, HasSubstr("--flagfile is not read here"));
}

TEST(Explain, SecretsAreNotRepeated) {
  EXPECT_THAT(explained({"run_glue.py --hub_token hf_secret --token=hf_secret --push_to_hub"}).text,
              Not(HasSubstr("hf_secret")));
}

TEST(Explain, SeveralCommandsAreExplainedInTurn) {
  const Explanation both = explained(
      {"pip install transformers\ncd examples; run_glue.py --task_name rte --output_dir a\n"
       "run_ner.py --train_file t --output_dir b"});
  EXPECT_THAT(both.text, StartsWith("berth --task rte"));
  EXPECT_THAT(both.text, HasSubstr("\n\nberth --train-data-file t"));
}

TEST(Explain, AProgramOfManyCallsIsRefused) {
  std::string program = "args = TrainingArguments('o')\n";
  for (int i = 0; i < 10'000; ++i) program += "a()\n";
  const std::vector<std::string> words = {"python", "many.py"};
  const auto read_file = [&](const std::string&) { return std::optional(program); };
  EXPECT_THAT([&] { explain(words, {.devices = {}, .read_file = read_file}); },
              ThrowsCode(Code::kUsage, "more than 10,000 calls"));
}

TEST(Explain, AModelThatIsMadeInManyStepsIsRefused) {
  std::string names, functions;
  for (int i = 1; i < 4'000; ++i) {
    names += "m" + std::to_string(i) + " = m" + std::to_string(i - 1) + "\n";
    functions +=
        "def f" + std::to_string(i) + "(x):\n    return f" + std::to_string(i + 1) + "(x)\n";
  }
  for (const std::string& steps : {"m0 = 1\n" + names, functions + "m3999 = f1(1)\n"}) {
    const std::string program =
        steps + "args = TrainingArguments('o')\nTrainer(model=m3999, args=args)\n";
    const auto read_file = [&](const std::string&) { return std::optional(program); };
    const std::vector<std::string> words = {"python", "steps.py"};
    EXPECT_THAT(explain(words, {.devices = {}, .read_file = read_file}).text,
                HasSubstr("is made in more than 100 steps"));
  }
}

TEST(Explain, TheDefaultBatchCountsMicroBatchesToo) {
  EXPECT_THAT(explained({"run_glue.py --train_file t --output_dir o "
                         "--gradient_accumulation_steps 4"})
                  .text,
              HasSubstr("--batch-size 32"));
  EXPECT_THAT(explained({"torchrun --nproc_per_node 2 --nnodes 2 run_glue.py --train_file t "
                         "--use_cpu --output_dir o"})
                  .text,
              HasSubstr("--batch-size 32"));
}

TEST(Explain, TheNumberOfDevicesIsSaidInFront) {
  const std::vector<std::string> line = {
      "--devices=2", "python", "run_flax_glue.py", "--task_name", "rte", "--output_dir", "o"};
  EXPECT_THAT(explained(line).text, HasSubstr("--devices 2"));
  EXPECT_THAT(explained(line).refused, IsEmpty());
  EXPECT_THAT(
      [] {
        explained({"--devices", "0", "run_flax_glue.py"});
      },
      ThrowsCode(Code::kUsage, "1 to 1024"));
}

TEST(Explain, NothingToExplainIsAnError) {
  EXPECT_THAT([] { explained({}); }, ThrowsCode(Code::kUsage, "no training script"));
  EXPECT_THAT([] { explained({"ls -l"}); }, ThrowsCode(Code::kUsage, "no training script"));
  EXPECT_THAT([] { explained({"python run_glue.py 'x"}); }, ThrowsCode(Code::kUsage, "quote"));
  EXPECT_THAT([] { explained({"cd a; bash b/run.sh 1"}); },
              ThrowsCode(Code::kUsage, "berth explain - < b/run.sh"));
}

}  // namespace
}  // namespace berth
