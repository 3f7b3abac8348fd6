#pragma once

#include <span>
#include <string>
#include <vector>

namespace berth {

// What a command line for another program is in berth.
struct Explanation {
  // For each command: the line for berth, and below it one line for each flag that changes nothing
  // or is refused, and why.
  std::string text;
  // The flags that stand in the way of a line that does the same, as typed; empty: the lines do.
  std::vector<std::string> refused;
};

// Explains the words behind `berth explain`: one of them that holds a whole command line, or the
// words of one. Nothing is run, and no file is read. Throws kUsage if no training script is
// started there.
Explanation explain(std::span<const std::string> words);

// Prints the explanation on standard output. `-` reads the command line from standard input. Throws
// kUsage if a flag is refused, besides what explain() throws.
void print_explanation(std::span<const char* const> words);

}  // namespace berth
