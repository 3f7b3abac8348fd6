#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "entrypoint/explain/notebook.h"
#include "entrypoint/explain/option_files.h"
#include "entrypoint/explain/python_reader.h"
#include "storage/base/error.h"
#include "tests/support/drawn_seed.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

std::string explain_file(const std::string& name) {
  std::ifstream file(BERTH_TESTDATA "/explain_files/" + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Reads beginnings of the text, and the text with each bit of some bytes flipped. The seed draws
// which.
void read_damaged(const std::string& text, const std::function<void(const std::string&)>& read) {
  const auto may_refuse = [&](const std::string& damaged) {
    try {
      read(damaged);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kUsage);
    }
  };
  ASSERT_FALSE(text.empty());
  for (size_t at = first_drawn(); at < text.size(); at += kDrawnStride) {
    may_refuse(text.substr(0, at));
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = text;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
      may_refuse(damaged);
    }
  }
}

TEST(Yaml, MappingsListsAndTextsAreRead) {
  const auto documents = parse_yaml(
      "a: 1  # one\nb:\n- x: 'it''s'\n  y: \"q\\n\"\n- [c, {d: e}]\nf: |\n  g\n   h\ni:\n---\n- "
      "j\n");
  ASSERT_EQ(documents.size(), 2u);
  EXPECT_EQ(documents[0].dump(),
            R"({"a":"1","b":[{"x":"it's","y":"q\n"},["c",{"d":"e"}]],"f":"g\n h\n","i":null})");
  EXPECT_EQ(documents[1].dump(), R"(["j"])");
}

TEST(Yaml, WhatIsNotReadIsRefusedByItsLine) {
  for (const char* text : {"a: &b c", "a: *b", "a: !!int 1", "? a\n", "a: [b", "a: {b: c", "a: 'b",
                           "a: b\n\tc: d", "a: b\n c: d\ne", "%YAML 1.2"}) {
    EXPECT_THAT([&] { parse_yaml(text); }, ThrowsCode(Code::kUsage, "line ")) << text;
  }
}

TEST(Yaml, NestingAndSizeAreLimited) {
  std::string flow = "a: ", block;
  for (int i = 0; i < 100; ++i) {
    flow += '[';
    block += "- ";
  }
  EXPECT_THAT([&] { parse_yaml(flow); }, ThrowsCode(Code::kUsage, "32 levels"));
  EXPECT_THAT([&] { parse_yaml(block + "x"); }, ThrowsCode(Code::kUsage, "32 levels"));
  EXPECT_THAT([&] { parse_yaml(std::string(2 << 20, 'x')); }, ThrowsCode(Code::kUsage, "1 MiB"));
}

TEST(Yaml, DamagedTextIsReadOrRefused) {
  for (const char* name : {"job.yaml", "pytorchjob.yaml"}) {
    read_damaged(explain_file(name), [](const std::string& text) { parse_yaml(text); });
  }
}

TEST(PythonReader, LiteralsAndNamesAreValues) {
  const PythonProgram program = read_python(
      "n = 2\nx = 'a' \"b\"\nf(n, x, -1e-5, key=[1, 'c'], other=g(3), sum=n + 1, none=None)\n");
  ASSERT_EQ(program.calls.size(), 2u);
  const PythonCall& call = program.calls[1];
  EXPECT_EQ(call.name, "f");
  EXPECT_EQ(call.line, 3u);
  EXPECT_EQ(call.positional[0].text, "2");
  EXPECT_EQ(call.positional[1].text, "ab");
  EXPECT_EQ(call.positional[2].text, "-1e-5");
  EXPECT_EQ(call.find("key")->items[1].text, "c");
  EXPECT_FALSE(call.find("other")->is_known());
  EXPECT_FALSE(call.find("sum")->is_known());
  EXPECT_EQ(call.find("none")->text, "None");
}

TEST(PythonReader, DefaultsOfAFunctionAreKeywords) {
  const PythonProgram program = read_python("def f(a, b: bool = True, c='x'):\n  g(a)\n");
  ASSERT_EQ(program.calls.size(), 2u);
  EXPECT_EQ(program.calls[0].name, "def f");
  EXPECT_EQ(program.calls[0].find("b")->text, "True");
  EXPECT_EQ(program.calls[0].find("c")->text, "x");
  EXPECT_EQ(program.calls[1].name, "g");
  EXPECT_TRUE(program.functions.contains("f"));
}

TEST(PythonReader, ANameWithTwoValuesIsUnknown) {
  const PythonProgram program = read_python("n = 2\nn = 3\nf(n)\n");
  EXPECT_FALSE(program.calls[0].positional[0].is_known());
}

TEST(PythonReader, NestingAndCopiesAreLimited) {
  EXPECT_THAT([] { read_python(std::string(1000, '(')); }, ThrowsCode(Code::kUsage, "64 levels"));
  std::string mismatched, growing = "a = ['x']\n";
  for (int i = 0; i < 1000; ++i) mismatched += "(]";
  EXPECT_THAT([&] { read_python(mismatched); }, ThrowsCode(Code::kUsage, "64 levels"));
  for (int i = 0; i < 60; ++i)
    growing += "a" + std::to_string(i) + " = [a, a]\na = a" + std::to_string(i) + "\n";
  std::string doubling = "v0 = ['x']\n";
  for (int i = 0; i < 60; ++i) {
    doubling += "v" + std::to_string(i + 1) + " = [v" + std::to_string(i) + ", v" +
                std::to_string(i) + "]\n";
  }
  EXPECT_NO_THROW(read_python(growing));
  EXPECT_NO_THROW(read_python(doubling));
}

TEST(PythonReader, DamagedProgramsAreReadOrRefused) {
  read_damaged(explain_file("sentiment.py"), [](const std::string& text) { read_python(text); });
}

TEST(PythonReader, DamagedNotebooksAreReadOrRefused) {
  read_damaged(explain_file("entities.ipynb"),
               [](const std::string& text) { read_python(notebook_program(text)); });
}

}  // namespace
}  // namespace berth
