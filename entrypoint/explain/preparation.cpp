#include "entrypoint/explain/preparation.h"

#include <algorithm>
#include <array>

#include "storage/base/text.h"

namespace berth {
namespace {

constexpr std::array<std::string_view, 14> kVerbs = {
    "preprocess", "prepare", "prep_", "download", "convert", "tokenize", "create_",
    "build_",     "make_",   "split", "clean",    "extract", "generate", "merge_"};

// Programs that write other rows than they read, where their output goes to a file.
constexpr std::array<std::string_view, 13> kFilters = {"cat",   "cut",   "grep", "sed",  "awk",
                                                       "head",  "tail",  "sort", "shuf", "tr",
                                                       "paste", "split", "jq"};
constexpr std::array<std::string_view, 7> kInterpreters = {"bash", "sh",      "zsh", "perl",
                                                           "make", "Rscript", "java"};

template <size_t N>
bool is_among(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

bool prepares_files(std::string_view script) {
  return std::ranges::any_of(
      kVerbs, [&](std::string_view verb) { return script.find(verb) != script.npos; });
}

std::string preparation_in(const ShellCommand& command) {
  if (command.words.empty()) return "";
  const std::string& program = command.words[0];
  const std::string_view name = last_part(program);
  const bool has_script = command.words.size() > 1;
  const bool is_filter =
      is_among(kFilters, name) && command.redirections.find('>') != std::string::npos;
  const bool is_script = name.ends_with(".sh") || (has_script && is_among(kInterpreters, name));
  if (!is_filter && !is_script) return "";
  return has_script ? cat(program, " ", command.words[1]) : program;
}

}  // namespace berth
