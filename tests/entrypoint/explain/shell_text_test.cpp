#include "entrypoint/explain/shell_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "entrypoint/flags/flag_table.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

using testing::ElementsAre;

// The words of the only command.
std::vector<std::string> words(std::string_view text) {
  const std::vector<ShellCommand> commands = shell_commands(text);
  EXPECT_EQ(commands.size(), 1u) << text;
  return commands.empty() ? std::vector<std::string>() : commands[0].words;
}

TEST(ShellText, WordsAreCutAsAShellCutsThem) {
  EXPECT_THAT(words("a  b\tc\n"), ElementsAre("a", "b", "c"));
  EXPECT_THAT(words(R"(a "b c" 'd "e' f\ g "")"), ElementsAre("a", "b c", "d \"e", "f g", ""));
  EXPECT_THAT(words(R"(--x="a b"c "d\"e" "f\n")"), ElementsAre("--x=a bc", "d\"e", "f\\n"));
  EXPECT_THAT(words("a # b\n"), ElementsAre("a"));
  EXPECT_THAT(words("a#b"), ElementsAre("a#b"));
}

TEST(ShellText, LinesContinueBehindABackslash) {
  EXPECT_THAT(words("a \\\n  b \\\r\n  c"), ElementsAre("a", "b", "c"));
  EXPECT_THAT(words("a \\  \n  b"), ElementsAre("a", "b"));  // blanks that a page added
  EXPECT_THAT(words("a \\"), ElementsAre("a"));
}

TEST(ShellText, LinesOfWindowsContinueBehindACaretOrABacktick) {
  EXPECT_THAT(words("a ^\n  b ^\r\n  c"), ElementsAre("a", "b", "c"));
  EXPECT_THAT(words("a `\n  b `  \n  c"), ElementsAre("a", "b", "c"));
  EXPECT_THAT(words("a ^b"), ElementsAre("a", "^b"));
  EXPECT_THAT(words("a^\n --b c^\r\n --d"), ElementsAre("a", "--b", "c", "--d"));
  EXPECT_EQ(shell_commands("A=`date`\nb c").size(), 1u);
}

TEST(ShellText, CommandsEndAtOperators) {
  EXPECT_EQ(shell_commands("a; b && c || d | e\nf & g").size(), 7u);
  EXPECT_EQ(shell_commands(" \n;\n").size(), 0u);
}

TEST(ShellText, ASubshellAndABranchHoldCommands) {
  EXPECT_EQ(shell_commands("(cd x && a b)")[1].words, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(shell_commands("case $1 in\n  t) a b ;;\nesac")[2].words,
            (std::vector<std::string>{"a", "b"}));
}

TEST(ShellText, VariablesOfTheTextAreReplaced) {
  EXPECT_THAT(words("export A=x B=y\nC='1 2'\nrun $A/${B} \"$C\" $D '$A' \"${D}\""),
              ElementsAre("run", "x/y", "1 2", "$D", "$A", "${D}"));
  EXPECT_THAT(words("run $(cat x y) $"), ElementsAre("run", "$(cat x y)", "$"));
}

TEST(ShellText, ACommandInAWordMayHoldQuotesAndOthers) {
  const std::string folder = R"x($(cd -- "$(dirname -- "$0")" && pwd))x";
  EXPECT_THAT(words("A=" + folder + "\nrun $A/x \"" + folder + "/y\" z"),
              ElementsAre("run", folder + "/x", folder + "/y", "z"));
  EXPECT_THAT(words("run $(a ')' \\)) $((1 + 2)) $(b (c"),
              ElementsAre("run", "$(a ')' \\))", "$((1 + 2))", "$(b (c"));
  EXPECT_EQ(shell_quoted(folder + "/\"x\"", true), "\"" + folder + "/\\\"x\\\"\"");
}

TEST(ShellText, AVariableThatNothingSetsHasItsDefault) {
  EXPECT_THAT(words("D=x; run ${1:-\"a b\"} ${A:-$D/y} \"${D:-z}\" ${B:-}"),
              ElementsAre("run", "a b", "x/y", "x"));
}

TEST(ShellText, AVariableWithoutQuotesIsCutAtBlanks) {
  EXPECT_THAT(words("A='--x 1'\nA+=' --y 2'\nrun $A \"$A\" z$A"),
              ElementsAre("run", "--x", "1", "--y", "2", "--x 1 --y 2", "z--x", "1", "--y", "2"));
  EXPECT_THAT(words("B=$(date +%d %m)\nC=\nrun a/$B $C b"),
              ElementsAre("run", "a/$(date +%d %m)", "b"));
  EXPECT_THAT(words("A='1 2'\nB=$A\nrun \"$B\""), ElementsAre("run", "1 2"));
}

// The words of the last command, and behind a bar the variables that may have several values.
std::string last_words(std::string_view text) {
  const std::vector<ShellCommand> commands = shell_commands(text);
  if (commands.empty()) return "";
  std::string all;
  for (const std::string& word : commands.back().words) all += word + " ";
  for (const std::string& name : commands.back().chosen) all += "|" + name;
  return all;
}

TEST(ShellText, AVariableThatAConditionSetsMayHaveSeveralValues) {
  EXPECT_EQ(last_words("A=3; if [ -n \"$D\" ]; then A=1; fi; run $A"), "run $A |A");
  EXPECT_EQ(last_words("if x; then A=1; elif y; then A=2; else A=3; fi\nrun --a=$A"),
            "run --a=$A |A");
  EXPECT_EQ(last_words("A=3\n[ x ] && A=1\nrun $A"), "run $A |A");
  EXPECT_EQ(last_words("A=3\ntest x || A=1\nrun $A"), "run $A |A");
  EXPECT_EQ(last_words("A=3\n[ x ] && {\n A=1\n B=2\n}\nrun $A"), "run $A |A");
  EXPECT_EQ(last_words("A=3\ncase $1 in a) A=1 ;; (b) A=2 ;; esac\nrun $A"), "run $A |A");
  EXPECT_EQ(last_words("A=3\nwhile x; do A=1; done\nrun $A"), "run $A |A");
  EXPECT_EQ(last_words("f() { A=1; }\nA=3\nrun $A"), "run 3 ");
  for (const char* function : {"f()", "f ()", "function f", "function f()"}) {
    EXPECT_EQ(last_words(std::string(function) + " { A=1; }\nA=3\nf\nrun $A"), "run $A |A");
  }
  EXPECT_EQ(last_words("A=(x)\nif y; then A+=(z); fi\nrun \"${A[@]}\""), "run ${A[@]} |A[@]");
  EXPECT_EQ(last_words("A=3\nif x; then A=1; fi\nB=\"--a $A\"\nrun $B"), "run --a $A |A");
  EXPECT_EQ(last_words("A=3\nif x; then A=1; fi\nrun ${A}_b ${A:-4}"), "run ${A}_b $A |A");
}

TEST(ShellText, AVariableHasTheValueThatItsBranchSets) {
  EXPECT_EQ(last_words("A=3; if x; then A=1; run $A; fi"), "fi ");
  EXPECT_EQ(shell_commands("A=3; if x; then A=1; run $A; fi")[1].words.back(), "1");
  const auto commands = shell_commands("A=3; if x; then A=1; run $A; else run $A; fi");
  EXPECT_EQ(commands[1].words.back(), "1");
  EXPECT_EQ(commands[2].words.back(), "3");
  EXPECT_EQ(last_words("A=3\n[ x ] && A=1 && run $A"), "run 1 ");
  EXPECT_EQ(last_words("cd x && A=1\nrun $A"), "run 1 ");
  EXPECT_EQ(last_words("if x; then A=1; fi\nA=2\nrun $A"), "run 2 ");
  EXPECT_EQ(last_words("A=2\nif x; then A=2; fi\nrun $A"), "run 2 ");
  EXPECT_EQ(last_words("A=1\n(A=2; x)\nrun $A"), "run 1 ");
  EXPECT_EQ(last_words("{ A=1; }\nif x; then export B=2; fi\nA=1 && run $A"), "run 1 ");
}

TEST(ShellText, ALaterRoundOfALoopMayHaveAnotherValue) {
  EXPECT_EQ(shell_commands("A=1\nwhile x; do run $A; A=2; done")[1].chosen.size(), 1u);
  EXPECT_EQ(shell_commands("while x; do A=1; run $A; done")[1].chosen.size(), 0u);
  EXPECT_EQ(shell_commands("A=1\nfor A in 2 3; do run $A; done")[1].words.back(), "$A");
  EXPECT_EQ(last_words("for A in 2 3; do x; done\nA=1\nfor A in 2 3; do x; done\nrun $A"),
            "run $A |A");
  const auto commands = shell_commands("A=1\nf() {\n  run $A\n}\nA=2\nf\n");
  EXPECT_EQ(commands[2].words.back(), "1");
  EXPECT_EQ(commands[2].chosen.size(), 1u);  // it is called with 2
}

TEST(ShellText, CommandsThatSetVariablesAreKnown) {
  for (const char* change : {"read -r A", "let A+=1", "((A++))", "((A = 5))", "getopts x A",
                             "printf -v A x", "mapfile A"}) {
    EXPECT_EQ(last_words(std::string("A=1\n") + change + "\nrun $A"), "run $A |A") << change;
  }
  EXPECT_EQ(last_words("A=1\nunset A\nrun ${A:-2}"), "run 2 ");
  EXPECT_EQ(last_words(": ${A:=2} ${B:=\"3 4\"}\nrun $A ${B}"), "run 2 3 4 ");
  EXPECT_EQ(last_words("A=1\nf() { local -r A=2; run $A; }"), "} ");
  EXPECT_EQ(shell_commands("A=1\nf() { local -r A=2; run $A; }")[1].words.back(), "2");
  EXPECT_EQ(last_words("((A == 1))\nA=1\nif ((A == 2)); then x; fi\nrun $A"), "run 1 ");
  EXPECT_EQ(last_words("if x; then export CUDA_VISIBLE_DEVICES=0; fi\nrun"),
            "run |CUDA_VISIBLE_DEVICES");
}

TEST(ShellText, BlocksThatNestWithoutEndAreRefused) {
  std::string text;
  for (int i = 0; i < 200; ++i) text += "if x; then ";
  EXPECT_THAT([&] { shell_commands(text); }, ThrowsCode(Code::kUsage, "100 blocks"));
  for (const char* end : {"fi", "done", "esac", "}", ")", ";;", "&&", "then A=1"}) {
    EXPECT_EQ(last_words(std::string(end) + "\nA=1; run $A"), "run 1 ") << end;
  }
}

TEST(ShellText, ItemsOfAnArrayAreWords) {
  EXPECT_THAT(
      words("A=(\n  --x 'a b'  # first\n  --y=$HOME \\\n)\nA+=(z)\nrun \"${A[@]}\" ${A[*]}"),
      ElementsAre("run", "--x", "a b", "--y=$HOME", "z", "--x", "a b", "--y=$HOME", "z"));
}

TEST(ShellText, VariablesThatGrowAreLimited) {
  std::string text = "A=xx\n";
  for (int i = 0; i < 40; ++i) text += "A=$A$A\n";
  EXPECT_THAT([&] { shell_commands(text); }, ThrowsCode(Code::kUsage, "4 MiB"));
}

TEST(ShellText, SlurmsOptionsAreReadAboveTheFirstCommand) {
  const std::vector<ShellCommand> commands =
      shell_commands("#SBATCH -N 1 --gres=gpu:2 # all\n# SBATCH -n 3\na\n#SBATCH -n 4\nb");
  ASSERT_EQ(commands.size(), 2u);
  for (const ShellCommand& command : commands) {
    EXPECT_THAT(command.batch_options, ElementsAre("sbatch", "-N", "1", "--gres=gpu:2"));
  }
}

TEST(ShellText, TheTextOfAnInnerShellIsCut) {
  const auto inner = [](std::string_view text) {
    std::vector<std::vector<std::string>> all;
    for (const ShellCommand& command : inner_commands(shell_commands(text)[0])) {
      all.push_back(command.words);
    }
    return all;
  };
  EXPECT_THAT(inner("a bash -lc 'cd b; c d'"),
              ElementsAre(ElementsAre("a", "cd", "b"), ElementsAre("a", "c", "d")));
  EXPECT_THAT(inner("ssh h 'a b'"), ElementsAre(ElementsAre("ssh", "h", "a", "b")));
  EXPECT_THAT(inner("sbatch --wrap='a b'"), ElementsAre(ElementsAre("sbatch", "a", "b")));
  EXPECT_TRUE(inner("echo \"it's done\"").empty());
  EXPECT_TRUE(inner("a b").empty());
}

TEST(ShellText, WhatStandsBesideTheCommandIsKept) {
  const ShellCommand command = shell_commands("A=1 B= run x 2>&1 > out.txt")[0];
  EXPECT_THAT(command.environment, ElementsAre("A=1", "B="));
  EXPECT_THAT(command.words, ElementsAre("run", "x"));
  EXPECT_EQ(command.redirections, "2>&1 > out.txt");
}

TEST(ShellText, AnOpenQuoteIsRefused) {
  for (const char* text : {"a 'b", "a \"b", "\"", "\"\\", "\"$A"}) {
    EXPECT_THAT([&] { shell_commands(text); }, ThrowsCode(Code::kUsage, "quote")) << text;
  }
}

TEST(ShellText, TextThatEndsAnywhereIsReadOrRefused) {
  const std::string text =
      "export A=\"b $C\" # d\n2>&1 E='f' run \\\n  ${A} $(x) \"\\\"\\$\" > g && h | i;\n";
  for (size_t size = 0; size <= text.size(); ++size) {
    for (const char last : {'\\', '\'', '"', '$', '{', '>', '\0', '\xff'}) {
      try {
        shell_commands(text.substr(0, size) + last);
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::kUsage);
      }
    }
  }
}

TEST(ShellText, QuotedWordsReadBack) {
  for (const std::string word : {"", "a", "a b", "a'b", "a\"b", "a$b", "a'$b`c\\d\"", "a'b!c",
                                 "*.txt", "~/x", "#", "a;b", "\n"}) {
    EXPECT_THAT(words("x " + shell_quoted(word, false)), ElementsAre("x", word));
  }
  EXPECT_EQ(shell_quoted("gs://b/a-1.2,c=d", false), "gs://b/a-1.2,c=d");
  EXPECT_EQ(shell_quoted("$A/b c", true), "\"$A/b c\"");
  EXPECT_EQ(shell_quoted("~/runs", true), "~/runs");
  EXPECT_EQ(shell_quoted("~/runs", false), "'~/runs'");
}

}  // namespace
}  // namespace berth
