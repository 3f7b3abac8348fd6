#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace berth {

// A command line for another program, as berth's own command line.
struct Explanation {
  // For each command: the line for berth, and below it one line for each flag that changes nothing
  // or is refused, and why.
  std::string text;
  // The words for which berth has no line that does the same, as typed; empty: the lines do the
  // same.
  std::vector<std::string> refused;
};

// Returns the text of a local file; nullopt: there is none that can be read. Throws kUsage where
// one is too large.
using ReadFile = std::function<std::optional<std::string>(const std::string& path)>;

struct ExplainOptions {
  std::optional<int64_t> devices{};  // how many the machine has that the line was written for
  ReadFile read_file{};              // reads files that a line names; none: they are not read
  ReadFile read_head{};              // likewise, the beginning of a data file: kHeadBytes
};

// Explains the words behind `berth explain`: one of them that holds a whole command line, or the
// words of one. They may begin with --devices N. The line is the same job, or `refused` is not
// empty: the same task, data, batch, schedule, metrics and kind of device. Nothing is run. Throws
// kUsage if no training script is started there.
Explanation explain(std::span<const std::string> words, const ExplainOptions& options = {});

// Prints the explanation on standard output. `-` reads the command line from standard input. Throws
// kUsage if a flag is refused, besides what explain() throws.
void print_explanation(std::span<const char* const> words);

}  // namespace berth
