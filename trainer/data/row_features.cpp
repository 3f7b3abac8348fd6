#include <utility>

#include "trainer/data/features.h"

namespace berth {
namespace {

// Features that are kept as they were made.
class MadeFeatures final : public RowFeatures {
 public:
  explicit MadeFeatures(std::vector<Features> features) : features_(std::move(features)) {}

  size_t size() const override { return features_.size(); }
  size_t tokens(size_t i) const override { return features_[i].input_ids.size(); }
  const Features& get(size_t i, Features&) const override { return features_[i]; }
  size_t memory_bytes() const override {
    size_t size_bytes = sizeof *this;
    for (const Features& features : features_) size_bytes += berth::memory_bytes(features);
    return size_bytes;
  }

 private:
  const std::vector<Features> features_;
};

}  // namespace

std::unique_ptr<RowFeatures> FeatureMaker::plan(const Example& example) const {
  return std::make_unique<MadeFeatures>(make(example));
}

size_t memory_bytes(const Features& features) {
  constexpr size_t kHeapBytes = 16;  // of each allocation: its header, and rounding on average
  size_t size_bytes = sizeof(Features);
  const auto add = [&](const auto& values) {
    if (values.capacity() > 0) size_bytes += values.capacity() * sizeof(values[0]) + kHeapBytes;
  };
  add(features.input_ids);
  add(features.token_type_ids);
  add(features.ends);
  add(features.classes);
  add(features.targets);
  add(features.words);
  add(features.context);
  return size_bytes;
}

}  // namespace berth
