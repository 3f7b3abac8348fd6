#include "entrypoint/flags/train_sources.h"

#include <algorithm>

#include "entrypoint/flags/flag_value.h"
#include "entrypoint/flags/similarity_rules.h"
#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
namespace {

constexpr const char* kSourceFlag = "--train-source";
constexpr std::string_view kSourceKeys = "weight loss scale margin max-similarity";

// Takes ",key=value" from the end of the text; false: there is none of a known key.
bool take_setting(std::string_view& text, std::string_view& key, std::string_view& value) {
  const size_t comma = text.rfind(',');
  if (comma == text.npos) return false;
  const std::string_view last = text.substr(comma + 1);
  const size_t equals = last.find('=');
  if (equals == last.npos) return false;
  key = last.substr(0, equals);
  if (!is_one_of(kSourceKeys, key)) return false;
  value = last.substr(equals + 1);
  text = text.substr(0, comma);
  return true;
}

void set_option(TrainSource& source, std::string_view key, std::string_view value) {
  constexpr RealRange kPositive{0, 1e6, false, true, "a number above 0"};
  if (key == "weight") source.weight = parse_real(value, kPositive);
  if (key == "scale") source.scale = parse_real(value, kPositive);
  if (key == "margin") source.margin = parse_real(value, {-1e6, 1e6, true, true, "a number"});
  if (key == "max-similarity") source.max_similarity = parse_real(value, kPositive);
  if (key != "loss") return;
  std::vector<std::string> names;
  for (const auto& [name, loss] : similarity_losses()) names.emplace_back(name);
  source.loss = similarity_losses()[parse_choice(value, names)].second;
}

[[noreturn]] void refuse_source(const char* flag, const char* problem, const char* hint) {
  throw Error(Code::kUsage, problem, flag, hint);
}

}  // namespace

Settings TrainSource::settings(const Settings& job) const {
  Settings own = job;
  own.data.train_data_file = file;
  own.data.max_similarity = max_similarity;
  own.data.text_column = own.data.text_pair_column = own.data.label_column = "";
  own.data.weight_column = "";
  own.embedding.loss = loss;
  own.embedding.scale = scale;
  own.embedding.margin = margin;
  own.embedding.distance.reset();
  own.embedding.guide = kNoGuide;
  own.embedding.guide_margin.reset();
  own.embedding.guide_relative_margin.reset();
  own.distillation.teacher.clear();
  return own;
}

TrainSource parse_train_source(std::string_view text) {
  TrainSource source;
  std::string_view key, value;
  std::vector<std::string_view> seen;
  while (take_setting(text, key, value)) {
    if (std::ranges::find(seen, key) != seen.end()) {
      throw Error(Code::kUsage, cat(key, " stands there twice"));
    }
    seen.push_back(key);
    try {
      set_option(source, key, value);
    } catch (const Error& error) {
      throw Error(Code::kUsage, cat(key, ": ", error.problem()));
    }
  }
  if (text.empty()) throw Error(Code::kUsage, "there is no file");
  source.file = text;
  if (source.loss && learns_embeddings(*source.loss)) {
    throw Error(Code::kUsage, "a source beside others has no teacher's embeddings to learn");
  }
  return source;
}

std::vector<TrainSource> train_sources(const DataOptions& data) {
  std::vector<TrainSource> sources;
  for (const std::string& part : parted(data.train_sources, "\n")) {
    sources.push_back(parse_train_source(part));
  }
  return sources;
}

void check_sources(const Settings& settings) {
  if (settings.data.train_sources.empty()) return;
  const std::optional<Task> task = find_task(settings.data.task);
  if (task != Task::kSimilarity) {
    refuse_source(kSourceFlag, "only --task similarity trains on several sources",
                  "give that task, or leave this flag out");
  }
  if (settings.training.token_budget > 0) {
    refuse_source("--token-budget", "updates of several sources have a number of rows",
                  "give --batch-size");
  }
  if (settings.data.data_fraction < 1 || settings.data.max_train_samples > 0) {
    refuse_source(settings.data.data_fraction < 1 ? "--data-fraction" : "--max-train-samples",
                  "each source counts by its weight", "give a weight in --train-source");
  }
}

}  // namespace berth
