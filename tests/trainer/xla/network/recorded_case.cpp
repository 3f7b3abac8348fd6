#include "tests/trainer/xla/network/recorded_case.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <string>

#include "storage/local_storage.h"
#include "tests/trainer/cpu/network/recorded_tensors.h"
#include "trainer/weights/pretrained.h"
#include "trainer/xla/layout/laid_out_batch.h"

namespace berth {
namespace {

using stablehlo::Array;
using stablehlo::Dims;
using stablehlo::ElementType;

constexpr int64_t kRowLength = 24;

Array words_of(ElementType type, Dims shape, int64_t fill = 0) {
  const int64_t count = stablehlo::TensorType{type, shape}.elements();
  return Array::ids(std::move(shape),
                    std::vector<uint64_t>(static_cast<size_t>(count), static_cast<uint64_t>(fill)),
                    type);
}

Array numbers_of(Dims shape, double fill = 0) {
  const int64_t count = stablehlo::TensorType{ElementType::kF32, shape}.elements();
  return Array::of(std::move(shape), std::vector<double>(static_cast<size_t>(count), fill));
}

// The device kit brings a copy of the folder.
std::string testdata() {
  const char* folder = std::getenv("BERTH_TESTDATA");
  return folder == nullptr ? BERTH_TESTDATA : folder;
}

Array array_of(const HostTensor& tensor) {
  if (tensor.dtype == DType::kF32) {
    Array numbers = numbers_of(tensor.dimensions);
    for (size_t i = 0; i < tensor.words.size(); ++i) {
      numbers.numbers[i] = static_cast<double>(std::bit_cast<float>(tensor.words[i]));
    }
    return numbers;
  }
  const bool is_signed = tensor.dtype == DType::kI32;
  Array words = words_of(is_signed ? ElementType::kS32 : ElementType::kU32, tensor.dimensions);
  for (size_t i = 0; i < tensor.words.size(); ++i) {
    const uint32_t word = tensor.words[i];
    words.words[i] =
        is_signed ? static_cast<uint64_t>(int64_t{static_cast<int32_t>(word)}) : uint64_t{word};
  }
  return words;
}

void put(Array& array, size_t at, int64_t word) { array.words[at] = static_cast<uint64_t>(word); }

NamedArrays scalars_of(const UpdateInputs& update) {
  NamedArrays inputs;
  inputs["step_words"] = Array::ids(
      {4},
      {update.seed & 0xFFFFFFFFu, update.seed >> 32, update.step & 0xFFFFFFFFu, update.step >> 32},
      ElementType::kU32);
  inputs["learning_rate"] = Array::of({}, {static_cast<double>(update.learning_rate)});
  return inputs;
}

}  // namespace

RecordedCase::RecordedCase(const std::string& name, bool drops)
    : file_(map_file(testdata() + "/architectures/" + name + ".safetensors")),
      recorded_(*file_->view()) {
  ModelConfig& config = options.config;
  config = parse_config(recorded_.metadata().at("config"));
  config.task = recorded_task(name);
  if (drops) {
    config.hidden_dropout_prob = 0.1;
    config.attention_probs_dropout_prob = 0.2;
    config.classifier_dropout = 0.3;
    config.mlp_dropout = config.normalizes_first ? 0.25 : 0;
    config.qa_dropout = config.context_pooler_dropout = 0.15;
  }
  batch = recorded_inputs(recorded_);
  batch.labels = recorded_labels(recorded_, config.task);
  lay_out();
}

RecordedCase::RecordedCase(const std::string& name, bool drops, PackedBatch other)
    : RecordedCase(name, drops) {
  batch = std::move(other);
  lay_out();
}

// Sequences in their order, each behind the one before it or in a new row.
void RecordedCase::lay_out() {
  int64_t column = kRowLength;
  rows_ = 0;
  places_.clear();
  for (size_t b = 0; b + 1 < batch.cu_seqlens.size(); ++b) {
    const int64_t length = batch.cu_seqlens[b + 1] - batch.cu_seqlens[b];
    column = (column + 7) / 8 * 8;
    if (column + length > kRowLength) {
      ++rows_;
      column = 0;
    }
    for (int64_t i = 0; i < length; ++i, ++column) {
      places_.push_back(static_cast<int32_t>((rows_ - 1) * kRowLength + column));
    }
  }
}

Engine& RecordedCase::cpu() {
  if (engine_) return *engine_;
  engine_ = device_->make_engine({.config = options.config,
                                  .lora = options.lora,
                                  .optimizer = options.optimizer,
                                  .loss = options.loss,
                                  .limits = {.tokens = 64, .sequences = 8},
                                  .micro_batches = 4,
                                  .update_tokens = 64,
                                  .longest = 16});
  ParameterTensors& tensors = engine_->tensors(StateTensors::kValues);
  // Adapters, and a head that was not recorded, are missing.
  const LoadReport report = load_parameters(Selected(recorded_, "param."), tensors, /*threads=*/1);
  for (const size_t i : report.missing) {
    std::vector<float> values(static_cast<size_t>(tensors.specs()[i].elements()));
    for (size_t j = 0; j < values.size(); ++j) {
      values[j] = 0.3f * std::sin(static_cast<float>(7 * i + j + 1));
    }
    tensors.write(i, 0, std::as_bytes(std::span(values)));
  }
  engine_->tensors_written();
  return *engine_;
}

NamedArrays RecordedCase::values() {
  NamedArrays all;
  const ParameterTensors& tensors = cpu().tensors(StateTensors::kValues);
  for (size_t i = 0; i < tensors.specs().size(); ++i) {
    const ParameterSpec& spec = tensors.specs()[i];
    const std::vector<float> values = tensors.read(i);
    all["value:" + spec.name] = Array::of(spec.shape, {values.begin(), values.end()});
    for (const char* kind : {"first_moment:", "second_moment:", "gradient:"}) {
      all[kind + spec.name] = numbers_of(spec.shape);
    }
  }
  all["sums"] = numbers_of({2});
  return all;
}

BatchShape RecordedCase::shape() const {
  BatchShape shape{.rows = rows_ + 1,
                   .row_length = kRowLength,
                   .sequences = batch.num_sequences() + 1,
                   .masked = 0};
  if (const auto* masked = std::get_if<PackedBatch::MaskedTokens>(&batch.labels)) {
    shape.masked = static_cast<int64_t>(masked->tokens.size()) + 2;
  }
  if (!has_product_layout()) return shape;
  shape.sequences += batch.sequences_per_example;
  return berth::lay_out(batch, options.config, {&shape, 1}).shape;
}

bool RecordedCase::has_product_layout() const {
  const HeadRows rows = traits(options.config.task).rows;
  return batch.sequences_per_example > 1 || !batch.teacher_logits.empty() ||
         rows == HeadRows::kPooled || rows == HeadRows::kMaskedAndFirst;
}

NamedArrays RecordedCase::inputs(const UpdateInputs& update, const BatchShape& shape) const {
  if (has_product_layout()) {
    NamedArrays arrays = scalars_of(update);
    const LaidOutBatch laid_out =
        berth::lay_out(batch, options.config, {&shape, 1}, 1, {.next_weight = next_weight});
    for (const auto& [name, tensor] : laid_out.replicas[0]) arrays[name] = array_of(tensor);
    return arrays;
  }
  const Dims tokens = {shape.rows, shape.row_length}, sequences = {shape.sequences};
  NamedArrays inputs = scalars_of(update);
  for (const char* name : {"input_ids", "token_type_ids", "place"}) {
    inputs[name] = words_of(ElementType::kS32, tokens);
  }
  const ModelConfig& config = options.config;
  inputs["position_ids"] = words_of(ElementType::kS32, tokens);
  inputs["segment"] = words_of(ElementType::kS32, tokens, -1);
  inputs["token_number"] = words_of(ElementType::kU32, tokens);
  inputs["sequence_number"] = words_of(ElementType::kU32, sequences);
  inputs["first_token"] = words_of(ElementType::kS32, sequences);
  for (size_t b = 0; b + 1 < batch.cu_seqlens.size(); ++b) {
    const auto first = static_cast<size_t>(batch.cu_seqlens[b]);
    const auto end = static_cast<size_t>(batch.cu_seqlens[b + 1]);
    put(inputs["sequence_number"], b, static_cast<int64_t>(batch.first_sequence + b));
    put(inputs["first_token"], b, places_[first]);
    int64_t counted = config.pad_token_id;
    for (size_t t = first; t < end; ++t) {
      const auto at = static_cast<size_t>(places_[t]);
      const bool is_padding = batch.input_ids[t] == config.pad_token_id;
      put(inputs["input_ids"], at, batch.input_ids[t]);
      put(inputs["token_type_ids"], at, batch.token_type_ids[t]);
      put(inputs["position_ids"], at,
          !config.counts_from_padding() ? batch.position_ids[t]
          : is_padding                  ? config.pad_token_id
                                        : ++counted);
      put(inputs["segment"], at, static_cast<int64_t>(b));
      put(inputs["place"], at, static_cast<int64_t>(t - first));
      put(inputs["token_number"], at, static_cast<int64_t>(batch.first_token + t));
    }
  }
  add_labels(shape, inputs);
  return inputs;
}

void RecordedCase::add_labels(const BatchShape& shape, NamedArrays& inputs) const {
  const auto place = [&](int32_t token) {
    return token < 0 ? -1 : places_[static_cast<size_t>(token)];
  };
  const Dims tokens = {shape.rows, shape.row_length}, sequences = {shape.sequences};
  Array& labels = inputs["labels"];
  Array& weights = inputs["weights"];
  const auto weigh = [&](size_t i, size_t at) {
    weights.numbers[at] = batch.weights.empty() ? 1.0 : static_cast<double>(batch.weights[i]);
  };
  if (const auto* tags = std::get_if<PackedBatch::TokenClasses>(&batch.labels)) {
    labels = words_of(ElementType::kS32, tokens, -1);
    weights = numbers_of(tokens);
    for (size_t t = 0; t < tags->classes.size(); ++t) {
      put(labels, static_cast<size_t>(places_[t]), tags->classes[t]);
      weigh(t, static_cast<size_t>(places_[t]));
    }
    return;
  }
  if (const auto* masked = std::get_if<PackedBatch::MaskedTokens>(&batch.labels)) {
    labels = words_of(ElementType::kS32, {shape.masked}, -1);
    inputs["masked"] = words_of(ElementType::kS32, {shape.masked});
    weights = numbers_of({shape.masked});
    for (size_t m = 0; m < masked->tokens.size(); ++m) {
      put(labels, m, masked->ids[m]);
      put(inputs["masked"], m, place(masked->tokens[m]));
      weigh(m, m);
    }
    return;
  }
  if (traits(options.config.task).labels == LabelKind::kVectorPerToken) {
    const std::vector<float>& vectors = std::get<PackedBatch::Scores>(batch.labels).values;
    const auto width = static_cast<size_t>(options.config.num_outputs());
    labels = numbers_of({shape.rows, shape.row_length, options.config.num_outputs()});
    weights = numbers_of(tokens);
    for (size_t t = 0; t < places_.size(); ++t) {
      const auto at = static_cast<size_t>(places_[t]);
      std::copy_n(vectors.begin() + static_cast<std::ptrdiff_t>(t * width), width,
                  labels.numbers.begin() + static_cast<std::ptrdiff_t>(at * width));
      weigh(t, at);
    }
    return;
  }
  weights = numbers_of(sequences);
  for (size_t b = 0; b + 1 < batch.cu_seqlens.size(); ++b) weigh(b, b);
  if (const auto* classes = std::get_if<PackedBatch::Classes>(&batch.labels)) {
    labels = words_of(ElementType::kS32, sequences);
    for (size_t b = 0; b < classes->size(); ++b) put(labels, b, (*classes)[b]);
  } else if (const auto* scores = std::get_if<PackedBatch::Scores>(&batch.labels)) {
    labels = numbers_of({shape.sequences, options.config.num_outputs()});
    std::copy(scores->values.begin(), scores->values.end(), labels.numbers.begin());
  } else if (const auto* sets = std::get_if<PackedBatch::ClassSets>(&batch.labels)) {
    labels = numbers_of({shape.sequences, options.config.num_outputs()});
    std::copy(sets->targets.begin(), sets->targets.end(), labels.numbers.begin());
  } else if (const auto* answers = std::get_if<PackedBatch::Answers>(&batch.labels)) {
    labels = inputs["ends"] = words_of(ElementType::kS32, sequences);
    for (size_t b = 0; b < answers->starts.size(); ++b) {
      put(labels, b, place(answers->starts[b]));
      put(inputs["ends"], b, place(answers->ends[b]));
    }
  }
}

std::vector<double> RecordedCase::tokens_of(const Array& rows) const {
  const auto width = static_cast<size_t>(rows.type.shape.back());
  std::vector<double> all;
  for (const int32_t place : places_) {
    const auto first = rows.numbers.begin() +
                       static_cast<std::ptrdiff_t>(place) * static_cast<std::ptrdiff_t>(width);
    all.insert(all.end(), first, first + static_cast<std::ptrdiff_t>(width));
  }
  return all;
}

PackedBatch part_of(const PackedBatch& whole, size_t first, size_t end) {
  const auto from = whole.cu_seqlens[first], to = whole.cu_seqlens[end];
  const auto tokens = [&](const std::vector<int32_t>& all) {
    return std::vector<int32_t>(all.begin() + from, all.begin() + to);
  };
  const auto& classes = std::get<PackedBatch::Classes>(whole.labels);
  PackedBatch part;
  part.input_ids = tokens(whole.input_ids);
  part.token_type_ids = tokens(whole.token_type_ids);
  part.position_ids = tokens(whole.position_ids);
  part.cu_seqlens.clear();
  for (size_t b = first; b <= end; ++b) part.cu_seqlens.push_back(whole.cu_seqlens[b] - from);
  part.labels = PackedBatch::Classes(classes.begin() + static_cast<std::ptrdiff_t>(first),
                                     classes.begin() + static_cast<std::ptrdiff_t>(end));
  part.first_token = static_cast<uint64_t>(from);
  part.first_sequence = first;
  return part;
}

}  // namespace berth
