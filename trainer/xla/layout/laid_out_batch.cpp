#include "trainer/xla/layout/laid_out_batch.h"

#include <algorithm>
#include <bit>
#include <concepts>
#include <numeric>
#include <set>
#include <utility>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "trainer/model/table_rows.h"

namespace berth {

RowPacking pack_rows(std::span<const int32_t> cu_seqlens, int64_t row_length) {
  const size_t sequences = cu_seqlens.size() - 1;
  const auto length = [&](size_t b) { return int64_t{cu_seqlens[b + 1]} - cu_seqlens[b]; };
  std::vector<size_t> longest_first(sequences);
  std::iota(longest_first.begin(), longest_first.end(), size_t{0});
  std::stable_sort(longest_first.begin(), longest_first.end(),
                   [&](size_t a, size_t b) { return length(a) > length(b); });

  // Best fit: the longest sequence first, into the row with the least room that is enough.
  RowPacking packing{
      .rows = 0, .row = std::vector<int32_t>(sequences), .column = std::vector<int32_t>(sequences)};
  std::set<std::pair<int64_t, int64_t>> free_columns;  // of each row that has any: {columns, row}
  for (const size_t b : longest_first) {
    if (length(b) > row_length) {
      throw Error(Code::kInternal,
                  cat("a sequence of ", length(b), " tokens, where rows have ", row_length));
    }
    const auto found = free_columns.lower_bound({length(b), 0});
    std::pair<int64_t, int64_t> place;
    if (found == free_columns.end()) {
      place = {row_length, packing.rows++};
    } else {
      place = *found;
      free_columns.erase(found);
    }
    packing.row[b] = static_cast<int32_t>(place.second);
    packing.column[b] = static_cast<int32_t>(row_length - place.first);
    place.first -= (length(b) + 7) / 8 * 8;
    if (place.first > 0) free_columns.insert(place);
  }
  return packing;
}

namespace {

constexpr int64_t kSharedRowLength = 128;
constexpr int64_t kFewestRows = 4;
// The numbers of rows, in sixteenths of the number for a full batch. Batches of a number of texts
// need fewer by chance. Batches of a token budget need a little more, because sequences begin at
// multiples of 8; how much more depends on their lengths.
constexpr int64_t kOfExamples[] = {4, 6, 8, 10, 12, 16};
constexpr int64_t kOfTokens[] = {8, 16, 18, 20, 24};

int64_t divided_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

// The most rows that pack_rows() may need.
int64_t most_rows(const BatchLimits& limits, int64_t longest, int64_t row_length) {
  const int64_t by_sequences =
      divided_up(limits.sequences, row_length / (divided_up(longest, 8) * 8));
  // Of two rows, one is more than half full: the second was begun by a sequence that did not fit
  // the first. A sequence of n tokens takes at most n + 7 columns, and at most 8 n.
  const int64_t columns = std::min(limits.tokens + 7 * limits.sequences, 8 * limits.tokens);
  const int64_t by_tokens = divided_up(2 * columns, row_length) + 1;
  return std::max<int64_t>(1, std::min(by_sequences, by_tokens));
}

}  // namespace

int64_t row_length_for(const BatchLimits& limits, int64_t longest, int64_t replicas) {
  const int64_t one = std::max<int64_t>(1, divided_up(longest, 8)) * 8;
  const int64_t long_ones =
      std::min(limits.sequences, limits.tokens / std::max<int64_t>(longest, 1));
  return one * std::max<int64_t>(
                   1, std::min(kSharedRowLength / one, long_ones / (kFewestRows * replicas)));
}

int64_t full_rows(const BatchLimits& limits, int64_t longest, int64_t replicas) {
  return std::max<int64_t>(
      1, divided_up(limits.tokens, replicas * row_length_for(limits, longest, replicas)));
}

std::vector<BatchShape> batch_shapes(const BatchLimits& limits, int64_t longest, int64_t replicas) {
  const int64_t row_length = row_length_for(limits, longest, replicas);
  const int64_t most =
      divided_up(most_rows(limits, std::max<int64_t>(longest, 1), row_length), replicas);
  const bool has_budget = limits.tokens < limits.sequences * longest;
  const int64_t full = has_budget ? full_rows(limits, longest, replicas) : most;
  std::set<int64_t> all_rows = {most};
  for (const int64_t sixteenths : has_budget ? std::span<const int64_t>(kOfTokens) : kOfExamples) {
    all_rows.insert(std::min(divided_up(full * sixteenths, 16), most));
  }
  // Masked tokens cost a product with the whole vocabulary, so each replica has room for little
  // more than its share of them. A batch that has them together takes the largest shape.
  const int64_t share = divided_up(3 * limits.most_masked(), 2 * replicas);
  std::vector<BatchShape> shapes;
  for (const int64_t rows : all_rows) {
    const int64_t tokens = rows * row_length;
    int64_t masked = std::min(tokens, limits.most_masked());
    if (rows < most) masked = std::min(masked, share);
    shapes.push_back({.rows = rows,
                      .row_length = row_length,
                      .sequences = std::max<int64_t>(1, std::min(tokens / 8, limits.sequences)),
                      .masked = masked});
  }
  return shapes;
}

const BatchShape& smallest_shape(std::span<const BatchShape> shapes, const BatchShape& needed) {
  const auto fits = [&](const BatchShape& shape) {
    return shape.rows >= needed.rows && shape.sequences >= needed.sequences &&
           shape.masked >= needed.masked;
  };
  const auto found = std::find_if(shapes.begin(), shapes.end(), fits);
  if (found != shapes.end()) return *found;
  throw Error(Code::kInternal,
              cat("a batch of ", needed.rows, " rows, ", needed.sequences, " sequences and ",
                  needed.masked, " masked tokens is larger than the engine's largest"));
}

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
         const UpdateNumbers& numbers, LaidOutBatch& out)
      : batch_(batch), config_(config), places_(places), numbers_(numbers), out_(out) {}

  void fill() {
    add_padding();
    put_tokens();
    put_sequences();
    put_slots();
    put_labels();
    put_gradients();
  }
  void fill_outputs(std::span<const float> outputs) {
    add_padding();
    put_slots();
    put_labels();
    std::vector<Place> places;
    for (size_t replica = 0; replica < out_.replicas.size(); ++replica) {
      for (size_t i = 0; i < outputs.size(); ++i) {
        places.push_back({replica, static_cast<int64_t>(i)});
      }
    }
    put("embeddings", places, [&](size_t i) { return outputs[i % outputs.size()]; });
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
      const bool is_label = name == "labels" || name == "ends" || name == "next_sentences";
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

  // Where the sequences of all examples are, for each replica.
  void put_slots() {
    if (out_.shape.group == 1) return;
    for (size_t i = 0; i < places_.sequences.size(); ++i) {
      const Place& place = places_.sequences[i];
      auto& inputs = out_.replicas[place.replica];
      if (inputs.contains("slots")) inputs["slots"].words[i] = bits(place.index);
      inputs["own_slots"].words[i] = bits(1.0f);
    }
  }

  void put_gradients() {
    if (numbers_.gradients.empty()) return;
    put("gradients", cells_of(places_.sequences, config_.embedding_dimension()),
        [&](size_t i) { return numbers_.gradients[i]; });
    put("loss_sums", {{0, 0}, {0, 1}}, [&](size_t i) { return numbers_.loss_sums[i]; });
  }

  // The places of what has one label each, of sequences or of examples: the latter are on all
  // replicas.
  std::vector<Place> labelled() const {
    if (out_.shape.group == 1) return places_.sequences;
    std::vector<Place> places;
    for (size_t replica = 0; replica < out_.replicas.size(); ++replica) {
      for (int64_t e = 0; e < batch_.num_examples(); ++e) places.push_back({replica, e});
    }
    return places;
  }
  // The number of the example or sequence at labelled()[i].
  size_t example(size_t i) const {
    return out_.shape.group == 1 ? i : i % static_cast<size_t>(batch_.num_examples());
  }

  // Without labels all is padding: there is no loss.
  void put_labels() {
    const std::vector<Place>& sequences = places_.sequences;
    if (const auto* classes = std::get_if<PackedBatch::Classes>(&batch_.labels)) {
      if (ranks_passages(config_.task)) {  // a teacher's scores, where the loss learns them
        put("labels", cells_of(labelled(), out_.shape.group),
            [&](size_t i) { return batch_.text_scores[i % batch_.text_scores.size()]; });
      } else {
        put("labels", labelled(), [&](size_t i) { return (*classes)[example(i)]; });
      }
      put_example_weights();
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
      put("draws", places_.masked, [&](size_t m) {
        const uint64_t token = batch_.first_token + static_cast<uint64_t>(masked->tokens[m]);
        return static_cast<float>(sampling_number(numbers_.sampling_key, token));
      });
      put("next_sentences", sequences, [&](size_t b) { return masked->next_sentences[b]; });
      put("next_weights", sequences, [&](size_t) { return numbers_.next_weight; });
    } else if (const auto* sets = std::get_if<PackedBatch::ClassSets>(&batch_.labels)) {
      put_targets(sets->targets);
    }
    if (out_.shape.has_teacher) {
      put("teacher", cells_of(sequences, config_.num_outputs()),
          [&](size_t i) { return batch_.teacher_logits[i]; });
    }
  }

  // The numbers [B,C] or [T,C] that the outputs are compared with.
  void put_targets(const std::vector<float>& targets) {
    const TaskTraits& task = traits(config_.task);
    const bool is_of_tokens =
        task.labels == LabelKind::kVectorPerToken || task.rows == HeadRows::kReplaced;
    put("labels", cells_of(is_of_tokens ? places_.tokens : labelled(), config_.num_outputs()),
        [&](size_t i) { return targets[i % targets.size()]; });
    if (is_of_tokens) return put_weights(places_.tokens);
    put_example_weights();
  }

  // The places of all numbers of rows.
  static std::vector<Place> cells_of(const std::vector<Place>& rows, int64_t columns) {
    std::vector<Place> places;
    for (const Place& place : rows) {
      for (int64_t c = 0; c < columns; ++c) {
        places.push_back({place.replica, place.index * columns + c});
      }
    }
    return places;
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

  void put_example_weights() {
    put("weights", labelled(),
        [&](size_t i) { return batch_.weights.empty() ? 1.0f : batch_.weights[example(i)]; });
  }

  // The index of a token in its replica; -1 of a negative one.
  int64_t index_of(int32_t token) const {
    return token < 0 ? -1 : places_.tokens[static_cast<size_t>(token)].index;
  }

  const PackedBatch& batch_;
  const ModelConfig& config_;
  const Places& places_;
  const UpdateNumbers numbers_;
  LaidOutBatch& out_;
};

// The most examples of batches like this one, which are as few numbers as possible.
int64_t most_examples(const PackedBatch& batch, const BatchShape& shape, int64_t replicas) {
  const auto rounded =
      static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(batch.num_sequences())));
  const int64_t sequences =
      replicas == 1 ? shape.sequences : std::min(replicas * shape.sequences, rounded);
  return sequences / batch.sequences_per_example;
}

// For each sequence its own row, and then the rows of its masked tokens. In a replica's outputs,
// the rows of sequences are behind the rows of masked tokens.
std::vector<int64_t> rows_of_next_sentences(const PackedBatch& batch, const Places& places,
                                            const BatchShape& shape) {
  const auto* labels = std::get_if<PackedBatch::MaskedTokens>(&batch.labels);
  const std::vector<int32_t> masked = labels ? labels->tokens : std::vector<int32_t>();
  const int64_t rows = shape.masked + shape.sequences;
  std::vector<int64_t> all;
  size_t m = 0;
  for (size_t b = 0; b < places.sequences.size(); ++b) {
    const Place& own = places.sequences[b];
    all.push_back(static_cast<int64_t>(own.replica) * rows + shape.masked + own.index);
    for (; m < masked.size() && masked[m] < batch.cu_seqlens[b + 1]; ++m) {
      all.push_back(static_cast<int64_t>(own.replica) * rows + places.masked[m].index);
    }
  }
  return all;
}

}  // namespace

LaidOutBatch lay_out(const PackedBatch& batch, const ModelConfig& config,
                     std::span<const BatchShape> shapes, int64_t replicas,
                     const UpdateNumbers& numbers) {
  const Places places = find_places(batch, shapes.front().row_length, replicas);
  LaidOutBatch out{.shape = smallest_shape(shapes, places.needed)};
  out.shape.group = batch.sequences_per_example;
  if (out.shape.group > 1) out.shape.examples = most_examples(batch, out.shape, replicas);
  out.shape.has_gradients = !numbers.gradients.empty();
  out.shape.has_teacher = !batch.teacher_logits.empty();
  out.replicas.resize(static_cast<size_t>(replicas));
  Filler(batch, config, places, numbers, out).fill();
  const auto add_logits = [&](const std::vector<Place>& of, int64_t rows) {
    for (const Place& place : of) {
      out.logit_rows.push_back(static_cast<int64_t>(place.replica) * rows + place.index);
    }
  };
  switch (traits(config.task).rows) {
    case HeadRows::kSequences:
    case HeadRows::kPooled:
    case HeadRows::kGroups:
      if (out.shape.group == 1) {
        add_logits(places.sequences, out.shape.sequences);
      } else {  // the first replica has the rows of all examples
        out.logit_rows.resize(static_cast<size_t>(batch.num_examples()));
        std::iota(out.logit_rows.begin(), out.logit_rows.end(), int64_t{0});
      }
      break;
    case HeadRows::kTokens:
    case HeadRows::kStates:
    case HeadRows::kReplaced:
      add_logits(places.tokens, out.shape.tokens());
      break;
    case HeadRows::kMasked:
      add_logits(places.masked, out.shape.masked);
      break;
    case HeadRows::kMaskedAndFirst:
      out.logit_rows = rows_of_next_sentences(batch, places, out.shape);
      break;
  }
  return out;
}

LaidOutBatch lay_out_outputs(const PackedBatch& batch, const ModelConfig& config,
                             std::span<const float> outputs, int64_t replicas) {
  // As many examples as the next power of two, so that few programs are compiled.
  const auto examples =
      static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(batch.num_examples())));
  LaidOutBatch out{.shape = {.group = batch.sequences_per_example, .examples = examples}};
  out.replicas.resize(static_cast<size_t>(replicas));
  Places places;  // as if the first replica had all sequences
  for (int64_t b = 0; b < batch.num_sequences(); ++b) places.sequences.push_back({0, b});
  Filler(batch, config, places, {}, out).fill_outputs(outputs);
  out.logit_rows.resize(static_cast<size_t>(batch.num_examples()));
  std::iota(out.logit_rows.begin(), out.logit_rows.end(), int64_t{0});
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
