#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "entrypoint/explain/explain.h"

// The commands that the README and the pages in docs/ show: berth must take their flags and values.
namespace berth {
namespace {

namespace fs = std::filesystem;

// The lines of code of a page, which are indented. A line that ends with a backslash goes on.
std::vector<std::string> code_of(const fs::path& page) {
  std::ifstream file(page);
  std::vector<std::string> code;
  bool goes_on = false;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("    ")) continue;
    const std::string text = line.substr(line.find_first_not_of(' '));
    const bool is_cut = text.ends_with('\\');
    const std::string part = is_cut ? text.substr(0, text.size() - 1) : text;
    if (goes_on) {
      code.back() += part;
    } else {
      code.push_back(part);
    }
    goes_on = is_cut;
  }
  return code;
}

// The arguments of berth in a line of code; empty where another program runs.
std::string arguments_in(const std::string& line) {
  const std::string image = " nlp ";
  if (line.starts_with("docker run ") && line.find(image) != line.npos) {
    return line.substr(line.find(image) + image.size());
  }
  return line.starts_with("berth --") ? line.substr(6) : "";
}

TEST(DocsCommands, AreCommandsOfBerth) {
  const fs::path root = BERTH_ROOT;
  std::vector<fs::path> pages = {root / "README.md"};
  for (const fs::directory_entry& page : fs::directory_iterator(root / "docs")) {
    pages.push_back(page.path());
  }
  size_t commands = 0;
  for (const fs::path& page : pages) {
    for (const std::string& line : code_of(page)) {
      const std::string arguments = arguments_in(line);
      // explain() takes no inputs without a flag, which these modes do.
      const bool has_inputs = arguments.starts_with("--mode inspect ") ||
                              arguments.starts_with("--mode fetch ") ||
                              arguments.starts_with("--mode report ");
      if (arguments.empty() || has_inputs) continue;
      const std::vector<std::string> words = {"berth " + arguments};
      EXPECT_TRUE(explain(words).refused.empty()) << page << ": " << line;
      ++commands;
    }
  }
  EXPECT_GE(commands, 30u);
}

}  // namespace
}  // namespace berth
