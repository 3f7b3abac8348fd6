#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "trainer/metrics/class_counts.h"

namespace berth {

// A named entity in a sentence.
struct Entity {
  std::string type;
  size_t first = 0, last = 0;  // its first and its last word
  auto operator<=>(const Entity&) const = default;
};

// The entities that the tags of one sentence mark. This follows seqeval's get_entities in its
// default mode, which follows conlleval. It reads the schemes IOB1, IOB2 and BIOES, and a tag that
// does not fit the one before it begins a new entity. The tag "B" alone has the type "_". Words
// that repeat a tag without a prefix ("PER") are one entity, whose type is the whole tag. seqeval
// takes the first letter of such a tag for a prefix. This gives the same entities, unless the
// letter is B, I, E, S or O.
std::vector<Entity> entities_of(std::span<const std::string> tags);

// Scores predicted tags against the true ones by the entities that they mark, as seqeval does. A
// predicted entity is right where its type and both of its ends are. Not thread-safe.
class EntityMetrics {
 public:
  // Adds one sentence. There are as many predictions as truths.
  void add(std::span<const std::string> truths, std::span<const std::string> predictions);

  int64_t words() const { return words_; }
  // The counts of each type that occurs or is predicted.
  const std::map<std::string, ClassCounts>& types() const { return types_; }

  // precision, recall and entity_f1 over all entities together (seqeval's micro average), and the
  // accuracy of the tags.
  std::map<std::string, double> metrics() const;

 private:
  std::map<std::string, ClassCounts> types_;
  int64_t words_ = 0, right_ = 0;
};

}  // namespace berth
