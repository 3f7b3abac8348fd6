#include "entrypoint/flags/probe_list.h"

#include <algorithm>
#include <optional>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "trainer/model/task.h"
#include "trainer/tasks/glue.h"

namespace berth {
namespace {

bool is_word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_';
}

bool is_word(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_word_character);
}

// Cuts the word before `separator` off the front of `text`. nullopt if no word stands there.
std::optional<std::string> take_word(std::string_view& text, std::string_view separator) {
  const size_t end = text.find(separator);
  if (end == std::string_view::npos || !is_word(text.substr(0, end))) return std::nullopt;
  std::string word(text.substr(0, end));
  text.remove_prefix(end + separator.size());
  return word;
}

// Throws kUsage unless fine-tuning has the task.
void require_labelled_task(const std::string& name) {
  const std::optional<Task> task = find_task(name);
  const GlueTask* const glue = find_glue_task(name);
  if (glue != nullptr && glue->train.empty()) {
    throw Error(Code::kUsage, cat(glue->name, " has no rows to train on"), "",
                "give --task mnli's rows to a probe");
  }
  if (glue != nullptr || (task && traits(*task).has_label_column)) return;
  throw Error(Code::kUsage,
              task ? cat("rows of ", task_name(*task), " have no labels")
                   : cat(quoted(name), " is not a task"),
              "",
              cat("give TASK=FILE with sequence_classification, token_classification or another "
                  "task of labelled rows, or FILE alone where the labels tell the task"));
}

// "gs://b/data/train-*.jsonl.gz" -> "train".
std::string name_of(std::string_view file) {
  while (file.ends_with('/')) file.remove_suffix(1);
  file = last_part(file);
  std::string name(file.substr(0, file.find('.')));
  std::ranges::replace_if(
      name, [](char c) { return !is_word_character(c); }, '-');
  const size_t begin = name.find_first_not_of('-');
  if (begin == std::string::npos) return "probe";
  return name.substr(begin, name.find_last_not_of('-') - begin + 1);
}

// Cuts an entry off the front of `text`, up to a comma without a backslash. Returns whether another
// entry follows.
bool take_entry(std::string_view& text, std::string& entry) {
  for (entry.clear(); !text.empty(); text.remove_prefix(1)) {
    if (text.starts_with("\\,")) {
      text.remove_prefix(1);
    } else if (text.front() == ',') {
      text.remove_prefix(1);
      return true;
    }
    entry += text.front();
  }
  return false;
}

ProbeFile parse_probe(std::string_view text) {
  ProbeFile probe;
  const bool has_scheme = text.substr(std::min(text.find(':'), text.size())).starts_with("://");
  if (!has_scheme) probe.name = take_word(text, ":").value_or("");
  probe.task = take_word(text, "=").value_or("");
  if (!probe.task.empty()) require_labelled_task(probe.task);
  probe.file = std::string(text);
  if (probe.name.empty()) probe.name = name_of(text);
  return probe;
}

}  // namespace

std::vector<ProbeFile> parse_probes(std::string_view text) {
  std::vector<ProbeFile> probes;
  std::string entry;
  for (bool goes_on = true; goes_on;) {
    goes_on = take_entry(text, entry);
    ProbeFile probe = parse_probe(trimmed(entry));
    if (probe.file.empty()) {
      throw Error(Code::kUsage, "an entry names no file", "", "give [NAME:][TASK=]FILE,...");
    }
    const auto same = std::ranges::find(probes, probe.name, &ProbeFile::name);
    if (same != probes.end()) {
      throw Error(Code::kUsage, cat("two probes are called ", quoted(probe.name)), "",
                  cat("give them names, such as first:", same->file, ",second:", probe.file));
    }
    probes.push_back(std::move(probe));
  }
  return probes;
}

}  // namespace berth
