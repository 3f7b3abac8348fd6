#include "trainer/xla/layout/laid_out_batch.h"

#include <algorithm>
#include <bit>
#include <concepts>

#include "trainer/model/batch_ids.h"
#include "trainer/xla/layout/row_packing.h"
#include "trainer/xla/layout/shapes.h"

namespace berth {
namespace {

using stablehlo::ElementType;

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
    add_padding();
    put_tokens();
    put_sequences();
    put_labels();
  }

 private:
  // All inputs that programs of this shape take, full of padding.
  void add_padding() {
    stablehlo::Graph graph;
    for (const auto& [name, value] : batch_inputs(graph, config_, out_.shape).in_order) {
      const ElementType element = value.element();
      const DType dtype = element == ElementType::kF32   ? DType::kF32
                          : element == ElementType::kU32 ? DType::kU32
                                                         : DType::kI32;
      const bool is_label = name == "labels" || name == "ends";
      const bool is_negative = name == "segment" || (is_label && dtype == DType::kI32);
      const std::vector<uint32_t> words(static_cast<size_t>(value.type().elements()),
                                        bits(is_negative ? -1 : 0));
      for (auto& inputs : out_.replicas) inputs[name] = {dtype, value.shape(), words};
    }
  }

  // value_of(i) at places[i] of an input, if the programs take it.
  template <typename ValueOf>
  void put(const char* name, const std::vector<Place>& places, const ValueOf& value_of) {
    if (!out_.replicas[0].contains(name)) return;
    std::vector<uint32_t*> words;
    for (auto& inputs : out_.replicas) words.push_back(inputs[name].words.data());
    for (size_t i = 0; i < places.size(); ++i) {
      words[places[i].replica][places[i].index] = bits(value_of(i));
    }
  }

  void put_tokens() {
    const std::vector<Place>& places = places_.tokens;
    const std::vector<int32_t> positions = table_positions(batch_, config_);
    std::vector<int32_t> sequence_of;
    for (size_t b = 0; b + 1 < batch_.cu_seqlens.size(); ++b) {
      sequence_of.resize(static_cast<size_t>(batch_.cu_seqlens[b + 1]), static_cast<int32_t>(b));
    }
    put("input_ids", places, [&](size_t t) { return batch_.input_ids[t]; });
    put("position_ids", places, [&](size_t t) { return positions[t]; });
    put("token_type_ids", places, [&](size_t t) { return batch_.token_type_ids[t]; });
    put("segment", places, [&](size_t t) { return sequence_of[t]; });
    put("place", places, [&](size_t t) {
      return static_cast<int64_t>(t) - batch_.cu_seqlens[static_cast<size_t>(sequence_of[t])];
    });
    put("token_number", places, [&](size_t t) { return batch_.first_token + t; });
  }

  void put_sequences() {
    put("sequence_number", places_.sequences, [&](size_t b) { return batch_.first_sequence + b; });
    put("first_token", places_.sequences, [&](size_t b) { return index_of(batch_.cu_seqlens[b]); });
  }

  // Without labels all is padding: there is no loss.
  void put_labels() {
    const std::vector<Place>& sequences = places_.sequences;
    if (const auto* classes = std::get_if<PackedBatch::Classes>(&batch_.labels)) {
      put_weighted(sequences, [&](size_t b) { return (*classes)[b]; });
    } else if (const auto* scores = std::get_if<PackedBatch::Scores>(&batch_.labels)) {
      put_targets(scores->values);
    } else if (const auto* tags = std::get_if<PackedBatch::TokenClasses>(&batch_.labels)) {
      put_weighted(places_.tokens, [&](size_t t) { return tags->classes[t]; });
    } else if (const auto* answers = std::get_if<PackedBatch::Answers>(&batch_.labels)) {
      put_weighted(sequences, [&](size_t b) { return index_of(answers->starts[b]); });
      put("ends", sequences, [&](size_t b) { return index_of(answers->ends[b]); });
    } else if (const auto* masked = std::get_if<PackedBatch::MaskedTokens>(&batch_.labels)) {
      put_weighted(places_.masked, [&](size_t m) { return masked->ids[m]; });
      put("masked", places_.masked, [&](size_t m) { return index_of(masked->tokens[m]); });
    } else if (const auto* sets = std::get_if<PackedBatch::ClassSets>(&batch_.labels)) {
      put_targets(sets->targets);
    }
  }

  // The numbers [B,C] or [T,C] that the outputs are compared with.
  void put_targets(const std::vector<float>& targets) {
    const int64_t outputs = config_.num_outputs();
    const bool is_of_tokens = traits(config_.task).labels == LabelKind::kVectorPerToken;
    const std::vector<Place>& rows = is_of_tokens ? places_.tokens : places_.sequences;
    std::vector<Place> places;
    for (const Place& place : rows) {
      for (int64_t c = 0; c < outputs; ++c) {
        places.push_back({place.replica, place.index * outputs + c});
      }
    }
    put("labels", places, [&](size_t i) { return targets[i]; });
    put_weights(rows);
  }

  // Labels of one number each, with their weights.
  template <typename ValueOf>
  void put_weighted(const std::vector<Place>& places, const ValueOf& value_of) {
    put("labels", places, value_of);
    put_weights(places);
  }
  void put_weights(const std::vector<Place>& places) {
    put("weights", places,
        [&](size_t i) { return batch_.weights.empty() ? 1.0f : batch_.weights[i]; });
  }

  // The index of a token in its replica; -1 of a negative one.
  int64_t index_of(int32_t token) const {
    return token < 0 ? -1 : places_.tokens[static_cast<size_t>(token)].index;
  }

  const PackedBatch& batch_;
  const ModelConfig& config_;
  const Places& places_;
  LaidOutBatch& out_;
};

}  // namespace

LaidOutBatch lay_out(const PackedBatch& batch, const ModelConfig& config,
                     std::span<const BatchShape> shapes, int64_t replicas) {
  const Places places = find_places(batch, shapes.front().row_length, replicas);
  LaidOutBatch out{.shape = smallest_shape(shapes, places.needed)};
  out.replicas.resize(static_cast<size_t>(replicas));
  Filler(batch, config, places, out).fill();
  const auto add_logits = [&](const std::vector<Place>& of, int64_t rows) {
    for (const Place& place : of) {
      out.logit_rows.push_back(static_cast<int64_t>(place.replica) * rows + place.index);
    }
  };
  const HeadRows head = traits(config.task).rows;
  if (head == HeadRows::kSequences) add_logits(places.sequences, out.shape.sequences);
  if (head == HeadRows::kTokens) add_logits(places.tokens, out.shape.tokens());
  if (head == HeadRows::kMasked) add_logits(places.masked, out.shape.masked);
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
