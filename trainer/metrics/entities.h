#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "trainer/metrics/class_counts.h"

namespace berth {

struct Entity {
  std::string type;
  size_t first = 0, last = 0;  // words, both inclusive
  auto operator<=>(const Entity&) const = default;
};

// The entities that the tags of one sentence mark, as seqeval's get_entities in its default mode
// reads them, which is conlleval's: IOB1, IOB2 and BIOES all mean what their authors meant, and a
// tag that does not fit its neighbours begins an entity. "B" alone has the type "_". A tag without
// a prefix ("PER") is an entity as long as it repeats, and its type is the whole tag; seqeval takes
// the first letter for the prefix, which comes to the same unless that is one of B, I, E, S, O.
std::vector<Entity> entities_of(std::span<const std::string> tags);

// How predicted tags fit the true ones: an entity is right where type and both ends are.
class EntityMetrics {
 public:
  // One sentence; as many predictions as truths.
  void add(std::span<const std::string> truths, std::span<const std::string> predictions);

  int64_t words() const { return words_; }
  // Precision, recall, F1 and support of each type that occurs or is predicted.
  const std::map<std::string, ClassCounts>& types() const { return types_; }

  // precision, recall and entity_f1 of all entities together (seqeval's micro average); accuracy of
  // the tags.
  std::map<std::string, double> metrics() const;

 private:
  std::map<std::string, ClassCounts> types_;
  int64_t words_ = 0, right_ = 0;
};

}  // namespace berth
