#include "trainer/metrics/entities.h"

#include <algorithm>
#include <cassert>
#include <string_view>

namespace berth {
namespace {

constexpr char kNone = '?';  // stands for a missing prefix

struct Tag {
  char prefix = 'O';
  std::string_view type = "_";
};

Tag parse(std::string_view tag) {
  constexpr std::string_view kAlone = "BIESO";
  if (tag.empty() || tag == ".") return {};  // no entity, as in seqeval and conlleval
  if (tag.size() == 1 && kAlone.find(tag[0]) != std::string_view::npos) return {.prefix = tag[0]};
  if (tag.size() > 1 && tag[1] == '-') {
    return {.prefix = tag[0], .type = tag.size() > 2 ? tag.substr(2) : std::string_view("_")};
  }
  return {.prefix = kNone, .type = tag};
}

bool begins_by_prefix(char before, char now) {
  if (now == 'B' || now == 'S') return true;
  const bool is_free = before == 'E' || before == 'S' || before == 'O';
  return is_free && (now == 'E' || now == 'I');
}

bool ends_by_prefix(char before, char now) {
  if (before == 'E' || before == 'S') return true;
  return (before == 'B' || before == 'I') && (now == 'B' || now == 'S' || now == 'O');
}

}  // namespace

std::vector<Entity> entities_of(std::span<const std::string> tags) {
  std::vector<Entity> entities;
  Tag before;
  size_t begin = 0;
  for (size_t i = 0; i <= tags.size(); ++i) {
    const Tag now = i < tags.size() ? parse(tags[i]) : Tag{};
    const bool differs = before.type != now.type;
    if (ends_by_prefix(before.prefix, now.prefix) || (differs && before.prefix != 'O')) {
      entities.push_back({.type = std::string(before.type), .first = begin, .last = i - 1});
    }
    if (begins_by_prefix(before.prefix, now.prefix) || (differs && now.prefix != 'O')) begin = i;
    before = now;
  }
  return entities;
}

void EntityMetrics::add(std::span<const std::string> truths,
                        std::span<const std::string> predictions) {
  assert(truths.size() == predictions.size());
  words_ += static_cast<int64_t>(truths.size());
  for (size_t i = 0; i < truths.size(); ++i) right_ += truths[i] == predictions[i];

  const std::vector<Entity> there = entities_of(truths), said = entities_of(predictions);
  for (const Entity& entity : there) ++types_[entity.type].support;
  for (const Entity& entity : said) {
    ClassCounts& counts = types_[entity.type];
    ++counts.predicted;
    counts.true_positives += std::find(there.begin(), there.end(), entity) != there.end();
  }
}

std::map<std::string, double> EntityMetrics::metrics() const {
  ClassCounts together;
  for (const auto& [type, counts] : types_) together += counts;
  return {{"accuracy", ratio(right_, words_)},
          {"precision", together.precision()},
          {"recall", together.recall()},
          {"entity_f1", together.f1()}};
}

}  // namespace berth
