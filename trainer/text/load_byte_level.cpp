#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "trainer/text/class_json.h"
#include "trainer/text/json_reading.h"
#include "trainer/text/load_kinds.h"

namespace berth {

namespace {

// merges.txt as tokenizer.json has it. Each line is "left right", best rank first. The first line
// may be "#version: 0.2".
Json read_merges(std::string_view content) {
  Json merges = Json::array();
  for (size_t number = 1; !content.empty(); ++number) {
    const size_t end = std::min(content.find('\n'), content.size());
    std::string_view line = content.substr(0, end);
    content.remove_prefix(std::min(end + 1, content.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || (number == 1 && line.starts_with("#version"))) continue;
    const size_t space = line.find(' ');
    if (space == line.npos) throw Error(Code::kBadData, cat("line ", number, " is not two tokens"));
    merges.push_back(Json::array({line.substr(0, space), line.substr(space + 1)}));
  }
  return merges;
}

// Whether the token takes the whitespace before it.
bool takes_space(const Json& root, std::string_view content) {
  return std::ranges::any_of(root["added_tokens"], [&](const Json& token) {
    return token["content"] == content && token["lstrip"] == true;
  });
}

}  // namespace

std::unique_ptr<Tokenizer> load_merges(const FileLookup& file, const std::string& vocabulary,
                                       const std::string& merges, TokenizerClass of,
                                       const TokenizerOverrides& overrides,
                                       std::vector<std::string>& rules) {
  const std::vector<Tokenizer::File> files =
      with_settings(file, of, {{"vocab.json", vocabulary}, {"merges.txt", merges}});
  if (of.kind == TokenizerKind::kUnknown) of.kind = TokenizerKind::kRoberta;
  of.rebuilds = true;
  Json root = {{"model", Json::object()}};
  read_if_present(vocabulary, "vocab.json", [&](const std::string& content) {
    root["model"]["vocab"] = parse_object(content);
  });
  read_if_present(merges, "merges.txt", [&](const std::string& content) {
    root["model"]["merges"] = read_merges(content);
  });
  read_as_class(file, of, overrides, root);
  if (of.kind == TokenizerKind::kRoberta && !takes_space(root, "<mask>")) {
    rules.emplace_back("<mask> beside vocab.json takes no space before it");
  }
  return load_pipeline(root, sequence_settings(file, nullptr), overrides, files);
}

}  // namespace berth
