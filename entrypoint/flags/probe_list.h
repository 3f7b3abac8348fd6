#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace berth {

// One entry of --probe: labelled rows on which the encoder is fine-tuned while it is pre-trained.
struct ProbeFile {
  std::string name{};  // of letters, digits, '-' and '_'; no other entry has it
  std::string task{};  // as --task takes it; empty: the rows tell
  std::string file{};  // as --train-data-file takes it
};

// Parses [NAME:][TASK=]FILE, separated by commas. A comma of FILE is written as "\,". Without a
// NAME, the file's own name is taken up to its first dot. The text before '=' is a TASK if it could
// be a word, and otherwise a part of FILE. Throws kUsage on an unknown task or one without labels,
// an entry without a file, and two entries of one name.
std::vector<ProbeFile> parse_probes(std::string_view text);

}  // namespace berth
