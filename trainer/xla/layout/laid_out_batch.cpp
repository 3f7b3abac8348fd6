#include "trainer/xla/layout/laid_out_batch.h"

#include <algorithm>
#include <bit>
#include <concepts>

#include "trainer/model/batch_ids.h"
#include "trainer/xla/layout/row_packing.h"
#include "trainer/xla/layout/shapes.h"

namespace berth {
namespace {

// Where something lies: in the part of which replica, and at which index there.
struct Place {
  size_t replica = 0;
  int64_t index = 0;
};

uint32_t bits(std::integral auto number) { return static_cast<uint32_t>(number); }
uint32_t bits(float number) { return std::bit_cast<uint32_t>(number); }

// The places of all parts of a batch.
struct Places {
  std::vector<Place> tokens, sequences, masked;  // [T], [B], [M]
  BatchShape needed{};                           // by the fullest replica
};

// Gives each item the next index of its replica. Returns the most of a replica.
int64_t number_items(std::vector<Place>& items, size_t replicas) {
  std::vector<int64_t> next(replicas);
  for (Place& item : items) item.index = next[item.replica]++;
  return *std::max_element(next.begin(), next.end());
}

Places find_places(const PackedBatch& batch, int64_t row_length, int64_t replicas) {
  const RowPacking packing = pack_rows(batch.cu_seqlens, row_length);
  Places places;
  for (size_t b = 0; b + 1 < batch.cu_seqlens.size(); ++b) {
    const auto replica = static_cast<size_t>(packing.row[b] % replicas);
    const int64_t first = packing.row[b] / replicas * row_length + packing.column[b];
    places.sequences.push_back({replica, 0});
    for (int64_t i = 0; i < batch.cu_seqlens[b + 1] - batch.cu_seqlens[b]; ++i) {
      places.tokens.push_back({replica, first + i});
    }
  }
  if (const auto* masked = std::get_if<PackedBatch::MaskedTokens>(&batch.labels)) {
    for (const int32_t token : masked->tokens) {
      places.masked.push_back({places.tokens[static_cast<size_t>(token)].replica, 0});
    }
  }
  const auto count = static_cast<size_t>(replicas);
  places.needed = {.rows = (packing.rows + replicas - 1) / replicas,
                   .row_length = row_length,
                   .sequences = number_items(places.sequences, count),
                   .masked = number_items(places.masked, count)};
  return places;
}

// Fills the inputs of all replicas.
class Filler {
 public:
  Filler(const PackedBatch& batch, const ModelConfig& config, const Places& places,
         LaidOutBatch& out)
      : batch_(batch), config_(config), places_(places), out_(out) {}

  void fill() {
    add_tokens();
    add_sequences();
    add_labels();
  }

 private:
  // Adds an input that is `padding` but for value_of(i) at places[i].
  template <typename ValueOf>
  void add(const char* name, DType dtype, const std::vector<int64_t>& dimensions, uint32_t padding,
           const std::vector<Place>& places, const ValueOf& value_of) {
    int64_t elements = 1;
    for (const int64_t dimension : dimensions) elements *= dimension;
    std::vector<uint32_t*> words;
    for (auto& inputs : out_.replicas) {
      HostTensor& tensor = inputs[name];
      tensor = {dtype, dimensions, std::vector<uint32_t>(static_cast<size_t>(elements), padding)};
      words.push_back(tensor.words.data());
    }
    for (size_t i = 0; i < places.size(); ++i) {
      words[places[i].replica][places[i].index] = bits(value_of(i));
    }
  }

  void add_tokens() {
    const std::vector<int64_t> rows = {out_.shape.rows, out_.shape.row_length};
    const auto add_each = [&](const char* name, DType dtype, int32_t padding,
                              const auto& value_of) {
      add(name, dtype, rows, bits(padding), places_.tokens, value_of);
    };
    const std::vector<int32_t> positions = table_positions(batch_, config_);
    std::vector<int32_t> sequence_of;
    for (size_t b = 0; b + 1 < batch_.cu_seqlens.size(); ++b) {
      sequence_of.resize(static_cast<size_t>(batch_.cu_seqlens[b + 1]), static_cast<int32_t>(b));
    }
    add_each("input_ids", DType::kI32, 0, [&](size_t t) { return batch_.input_ids[t]; });
    add_each("position_ids", DType::kI32, 0, [&](size_t t) { return positions[t]; });
    if (config_.type_vocab_size > 0) {
      add_each("token_type_ids", DType::kI32, 0,
               [&](size_t t) { return batch_.token_type_ids[t]; });
    }
    add_each("segment", DType::kI32, -1, [&](size_t t) { return sequence_of[t]; });
    add_each("place", DType::kI32, 0, [&](size_t t) {
      return static_cast<int64_t>(t) - batch_.cu_seqlens[static_cast<size_t>(sequence_of[t])];
    });
    add_each("token_number", DType::kU32, 0,
             [&](size_t t) { return static_cast<int64_t>(batch_.first_token + t); });
  }

  void add_sequences() {
    const std::vector<int64_t> rows = {out_.shape.sequences};
    add("sequence_number", DType::kU32, rows, 0, places_.sequences,
        [&](size_t b) { return static_cast<int64_t>(batch_.first_sequence + b); });
    add("first_token", DType::kI32, rows, 0, places_.sequences,
        [&](size_t b) { return index_of(batch_.cu_seqlens[b]); });
  }

  // The index of a token in its replica; -1 of a negative one.
  int64_t index_of(int32_t token) const {
    return token < 0 ? -1 : places_.tokens[static_cast<size_t>(token)].index;
  }

  // Labels of one number each, with their weights. Without labels all is padding: there is no loss.
  template <typename ValueOf>
  void add_labels_at(const std::vector<Place>& places, const std::vector<int64_t>& rows,
                     DType dtype, uint32_t padding, const ValueOf& value_of) {
    add("labels", dtype, rows, padding, places, value_of);
    add_weights(places, rows);
  }
  void add_weights(const std::vector<Place>& places, const std::vector<int64_t>& rows) {
    add("weights", DType::kF32, rows, 0, places,
        [&](size_t i) { return batch_.weights.empty() ? 1.0f : batch_.weights[i]; });
  }

  void add_labels();
  void add_sets(const PackedBatch::ClassSets* sets);

  const PackedBatch& batch_;
  const ModelConfig& config_;
  const Places& places_;
  LaidOutBatch& out_;
};

void Filler::add_labels() {
  const BatchShape& shape = out_.shape;
  const std::vector<int64_t> sequences = {shape.sequences};
  const bool is_labelled = !std::holds_alternative<std::monostate>(batch_.labels);
  const std::vector<Place> none;
  const std::vector<Place>& of_sequences = is_labelled ? places_.sequences : none;
  const uint32_t no_class = bits(-1);
  switch (traits(config_.task).labels) {
    case LabelKind::kClass: {
      const auto* classes = std::get_if<PackedBatch::Classes>(&batch_.labels);
      return add_labels_at(of_sequences, sequences, DType::kI32, no_class,
                           [&](size_t b) { return (*classes)[b]; });
    }
    case LabelKind::kNumber: {
      const auto* scores = std::get_if<PackedBatch::Scores>(&batch_.labels);
      return add_labels_at(of_sequences, sequences, DType::kF32, 0,
                           [&](size_t b) { return scores->values[b]; });
    }
    case LabelKind::kSet:
      return add_sets(std::get_if<PackedBatch::ClassSets>(&batch_.labels));
    case LabelKind::kTagPerWord: {
      const auto* tags = std::get_if<PackedBatch::TokenClasses>(&batch_.labels);
      return add_labels_at(is_labelled ? places_.tokens : none, {shape.rows, shape.row_length},
                           DType::kI32, no_class, [&](size_t t) { return tags->classes[t]; });
    }
    case LabelKind::kSpan: {
      const auto* answers = std::get_if<PackedBatch::Answers>(&batch_.labels);
      add("ends", DType::kI32, sequences, no_class, of_sequences,
          [&](size_t b) { return index_of(answers->ends[b]); });
      return add_labels_at(of_sequences, sequences, DType::kI32, no_class,
                           [&](size_t b) { return index_of(answers->starts[b]); });
    }
    case LabelKind::kMaskedId:
      break;
  }
  const auto* masked = std::get_if<PackedBatch::MaskedTokens>(&batch_.labels);
  add("masked", DType::kI32, {shape.masked}, 0, places_.masked,
      [&](size_t m) { return index_of(masked->tokens[m]); });
  add_labels_at(places_.masked, {shape.masked}, DType::kI32, no_class,
                [&](size_t m) { return masked->ids[m]; });
}

void Filler::add_sets(const PackedBatch::ClassSets* sets) {
  const int64_t classes = config_.num_outputs();
  std::vector<Place> targets;
  for (const Place& place : places_.sequences) {
    for (int64_t c = 0; c < classes && sets != nullptr; ++c) {
      targets.push_back({place.replica, place.index * classes + c});
    }
  }
  add("labels", DType::kF32, {out_.shape.sequences, classes}, 0, targets,
      [&](size_t i) { return sets->targets[i]; });
  add_weights(sets != nullptr ? places_.sequences : std::vector<Place>(), {out_.shape.sequences});
}

// The places of what has logits, and how many rows of logits each replica has.
std::pair<const std::vector<Place>&, int64_t> places_of_logits(HeadRows rows, const Places& places,
                                                               const BatchShape& shape) {
  switch (rows) {
    case HeadRows::kSequences:
      return {places.sequences, shape.sequences};
    case HeadRows::kTokens:
      return {places.tokens, shape.tokens()};
    case HeadRows::kMasked:
      break;
  }
  return {places.masked, shape.masked};
}

}  // namespace

LaidOutBatch lay_out(const PackedBatch& batch, const ModelConfig& config,
                     std::span<const BatchShape> shapes, int64_t replicas) {
  const Places places = find_places(batch, shapes.front().row_length, replicas);
  LaidOutBatch out{.shape = smallest_shape(shapes, places.needed)};
  out.replicas.resize(static_cast<size_t>(replicas));
  Filler(batch, config, places, out).fill();
  const auto [logits, rows] = places_of_logits(traits(config.task).rows, places, out.shape);
  for (const Place& place : logits) {
    out.logit_rows.push_back(static_cast<int64_t>(place.replica) * rows + place.index);
  }
  return out;
}

std::vector<float> packed_order(std::span<const float> stacked, std::span<const int64_t> logit_rows,
                                int64_t columns) {
  std::vector<float> packed;
  packed.reserve(logit_rows.size() * static_cast<size_t>(columns));
  for (const int64_t row : logit_rows) {
    const auto cells =
        stacked.subspan(static_cast<size_t>(row * columns), static_cast<size_t>(columns));
    packed.insert(packed.end(), cells.begin(), cells.end());
  }
  return packed;
}

}  // namespace berth
