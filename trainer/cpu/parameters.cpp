#include "trainer/cpu/parameters.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <functional>
#include <string>
#include <utility>

#include "storage/base/error.h"

namespace berth {
namespace {

// The gradient of a smaller matrix stays in a cache between backward and the update, so nothing is
// gained by keeping it in another form.
constexpr int64_t kLeastElements = 1 << 17;

// Whether the gradient of a matrix [N,K] costs less as the factors of a batch of T tokens than as
// a matrix. The norm of dy^T x follows from dy dy^T and x x^T, which take T^2 (N + K)
// multiplications. The matrix must instead be written, read for the norm, read again for the
// update, and zeroed. Summed fp32 gradients were measured: the two cost the same at about 200
// multiplications for each element of the matrix. For a batch of one text, factors save half of the
// memory traffic of an update.
bool is_better_factored(const ParameterSpec& spec, int64_t tokens) {
  constexpr int64_t kMultiplicationsPerElement = 200, kMostTokens = 1024;
  return tokens <= kMostTokens && tokens * tokens * (spec.shape[0] + spec.shape[1]) <=
                                      kMultiplicationsPerElement * spec.elements();
}

// With more tokens than this, whole gradients stay in fp32. A gradient that is rounded to bf16 is
// summed over all tokens in the cache and rounded once, as PyTorch's autocast does. The norm and
// the update then read half as many bytes. With more tokens, such a product is slower than a
// blocked one, and the activations, whose memory the gradient reuses, have room for fp32. Measured
// with BERT-large at batch size 8: rounded gradients and weights that are not packed lowered the
// memory from 6.6 to 4.8 GiB. The speed changed by less than the machine's noise.
constexpr int64_t kMostTokensRounded = 8192;

// Whether one product of one batch can be the whole gradient of this matrix.
bool is_one_product(const ParameterSpec& spec, const GradientRule& rule) {
  return spec.is_product && rule.update_tokens > 0 && spec.elements() >= kLeastElements;
}

}  // namespace

GradientForm gradient_form(const ParameterSpec& spec, const GradientRule& rule) {
  if (!spec.trains) return GradientForm::kNone;
  if (!is_one_product(spec, rule)) return GradientForm::kSummed;
  const bool is_factored = !rule.is_shared && is_better_factored(spec, rule.update_tokens);
  return is_factored ? GradientForm::kFactored : GradientForm::kWhole;
}

namespace {

// The elements that a gradient of this form takes beside the summed ones: a kWhole gradient, or
// the two factors of a kFactored one.
int64_t kept_elements(const ParameterSpec& spec, GradientForm form, const GradientRule& rule) {
  switch (form) {
    case GradientForm::kNone:
    case GradientForm::kSummed:
      return 0;
    case GradientForm::kWhole:
      return spec.elements();
    case GradientForm::kFactored:
      return rule.update_tokens * (spec.shape[0] + spec.shape[1]);
  }
  return 0;
}

// The type of kWhole gradients and of factors: `product_dtype`, to which products round their
// factors anyway, or fp32 where batches are long.
DType kept_gradient_dtype(DType product_dtype, const GradientRule& rule) {
  return rule.update_tokens > kMostTokensRounded ? DType::kF32 : product_dtype;
}

// How the packed copies of a matrix are held while the model trains.
// A product with few rows packs each panel of the weight right before it uses it. A copy that is
// packed in every update would cost more than it saves.
WeightUse training_use(const ParameterSpec& spec, const GradientRule& rule) {
  const bool is_of_few_tokens =
      is_one_product(spec, rule) && is_better_factored(spec, rule.update_tokens);
  return is_of_few_tokens ? WeightUse::kTrainingOfFewTokens : WeightUse::kTraining;
}

}  // namespace

void Parameter::take_product(Kernels& kernels, ConstTensor dy, ConstTensor x) {
  if (!keeps_product()) return;
  if (tokens_) throw Error(Code::kInternal, "the gradient of an update was made twice");
  tokens_ = dy.rows();
  if (form_ != GradientForm::kFactored) return;
  kernels.convert(dy, kept_dy_.first(*tokens_));
  kernels.convert(x, kept_x_.first(*tokens_));
}

FactoredGradient Parameter::factors() const {
  return {kept_dy_.first(*tokens_), kept_x_.first(*tokens_)};
}

namespace {

size_t fp32_bytes(int64_t elements) { return static_cast<size_t>(elements) * sizeof(float); }

Tensor block_of(const std::unique_ptr<Memory>& memory, int64_t elements) {
  return {.data = memory ? memory->data() : nullptr, .rank = 1, .shape = {elements}};
}

// The index of the first parameter that trains. Throws kInternal if a later one does not train.
size_t first_that_trains(std::span<const ParameterSpec> specs) {
  const auto first = std::ranges::find_if(specs, &ParameterSpec::trains);
  if (!std::ranges::all_of(first, specs.end(), &ParameterSpec::trains)) {
    throw Error(Code::kInternal, "what trains is not one end of the parameter table");
  }
  return static_cast<size_t>(first - specs.begin());
}

}  // namespace

Parameters::Parameters(Kernels& kernels, std::vector<ParameterSpec> specs, bool with_gradients,
                       GradientRule rule, std::optional<int64_t> moment_elements)
    : kernels_(&kernels),
      specs_(std::move(specs)),
      entries_(specs_.size()),
      with_gradients_(with_gradients),
      rule_(rule),
      moment_elements_(moment_elements),
      kept_dtype_(kept_gradient_dtype(kernels.product_dtype(), rule)),
      first_trained_(with_gradients ? first_that_trains(specs_) : specs_.size()) {
  // 1. Offsets in the blocks: values of all, moments and summed gradients of what trains.
  std::map<int64_t, std::vector<size_t>, std::greater<>> by_depth;  // of the parameters that train
  for (size_t i = 0; i < specs_.size(); ++i) {
    Entry& entry = entries_[i];
    indices_.emplace(specs_[i].name, i);
    if (i == first_trained_) moments_begin_ = size_;
    entry.value = size_;
    size_ += specs_[i].elements();
    if (i < first_trained_) continue;
    entry.moment = entry.value - moments_begin_;
    entry.form = berth::gradient_form(specs_[i], rule);
    entry.gradient = summed_;
    if (entry.form == GradientForm::kSummed) summed_ += specs_[i].elements();
    by_depth[specs_[i].depth].push_back(i);
  }
  // 2. Kept gradients lie in the order in which backward makes them, the deepest first.
  int64_t kept = 0;
  for (const auto& [depth, indices] : by_depth) {
    for (const size_t i : indices) {
      entries_[i].kept = kept;
      kept += kept_elements(specs_[i], entries_[i].form, rule_);
    }
    kept_from_[depth] = kept;
  }
}

Parameters::Parameters(std::vector<ParameterSpec> specs, bool with_gradients, Kernels& kernels,
                       GradientRule rule, std::optional<int64_t> moment_elements)
    : Parameters(kernels, std::move(specs), with_gradients, rule, moment_elements) {
  allocate();
}

Parameters Parameters::plan(std::vector<ParameterSpec> specs, bool with_gradients, Kernels& kernels,
                            GradientRule rule, std::optional<int64_t> moment_elements) {
  return Parameters(kernels, std::move(specs), with_gradients, rule, moment_elements);
}

void Parameters::allocate() {
  values_ = std::make_unique<Memory>(fp32_bytes(size_));
  if (!with_gradients_) return;
  gradients_ = std::make_unique<Memory>(fp32_bytes(summed_));
  first_moments_ = std::make_unique<Memory>(fp32_bytes(moment_elements()));
  second_moments_ = std::make_unique<Memory>(fp32_bytes(moment_elements()));
  for (size_t i = first_trained_; i < specs_.size(); ++i) {
    if (!specs_[i].is_looked_up) continue;
    entries_[i].marks =
        std::make_unique<Memory>(static_cast<size_t>(specs_[i].shape[0]) * sizeof(int32_t));
    const Tensor summed = gradient(i);  // only the rows of a few ids are written
    expect_sparse(summed.data, summed.size_bytes());
  }
}

size_t Parameters::kept_bytes(int64_t depth) const {
  const auto at = kept_from_.lower_bound(depth);
  return at == kept_from_.end() ? 0 : static_cast<size_t>(at->second) * size_of(kept_dtype_);
}

void Parameters::keep_products(std::byte* room) {
  if (kept_ != nullptr && kept_bytes() > 0) {
    throw Error(Code::kInternal, "two models keep the gradients of the same parameters");
  }
  kept_ = room;
  for (Parameter& handle : handles_) place(handle);
}

void Parameters::make_empty_products() {
  for (Parameter& handle : handles_) {
    if (!handle.keeps_product()) continue;
    kernels_->zero(handle.gradient_);
    handle.tokens_ = 0;
  }
}

Tensor Parameters::kept_at(int64_t offset, int64_t rows, int64_t columns) const {
  return {.data = kept_ ? kept_ + static_cast<size_t>(offset) * size_of(kept_dtype_) : nullptr,
          .dtype = kept_dtype_,
          .rank = 2,
          .shape = {rows, columns}};
}

// Places the gradient of a handle. A handle that joins neighbours uses the memory of all of them,
// which lies end to end. It needs less than that, because its neighbours share one x.
void Parameters::place(Parameter& handle) const {
  const int64_t offset = entries_[handle.index_].kept;
  const int64_t rows = handle.value_.rows(), columns = handle.value_.columns();
  if (handle.form_ == GradientForm::kFactored) {
    handle.kept_dy_ = kept_at(offset, rule_.update_tokens, rows);
    handle.kept_x_ = kept_at(offset + rule_.update_tokens * rows, rule_.update_tokens, columns);
  } else {
    handle.gradient_ = gradient_of(handle.index_, handle.count_);
  }
}

Parameter& Parameters::parameter(std::string_view name, int count) {
  const size_t index = index_of(name);
  Parameter handle;
  handle.index_ = index;
  handle.count_ = count;
  handle.form_ = entries_[index].form;
  const auto covered = std::span(entries_).subspan(index, static_cast<size_t>(count));
  for (const Entry& entry : covered) {
    for (Parameter* known : entry.handles) {
      if (known->index_ == index && known->count_ == count) return *known;
      if (known->keeps_product() || handle.keeps_product()) {
        throw Error(Code::kInternal, "two layers keep the gradient of " + std::string(name));
      }
    }
  }
  handle.value_ = value_of(index, count);
  handle.marks_ = count == 1 ? marks(index) : Tensor();
  place(handle);
  Parameter& kept = handles_.emplace_back(std::move(handle));
  for (Entry& entry : covered) entry.handles.push_back(&kept);
  return kept;
}

Parameter& Parameters::factor(std::string_view name, int count) {
  Parameter& handle = parameter(name, count);
  if (handle.weight_ == nullptr) {
    handle.weight_ = kernels_->make_weight(handle.value_.as_matrix(), use_of(handle));
  } else {
    handle.weight_->refresh();  // values may have changed since another model was made
  }
  return handle;
}

WeightUse Parameters::use_of(const Parameter& handle) const {
  return with_gradients_ ? training_use(specs_[handle.index_], rule_) : WeightUse::kInference;
}

void Parameters::refresh() {
  for (Parameter& handle : handles_) {
    if (handle.weight_ != nullptr) handle.weight_->refresh();
  }
}

Tensor Parameters::marks(size_t index) const {
  const std::unique_ptr<Memory>& marks = entries_[index].marks;
  if (marks == nullptr) return {};
  return {
      .data = marks->data(), .dtype = DType::kI32, .rank = 1, .shape = {specs_[index].shape[0]}};
}

void Parameters::mark_all_rows() {
  for (size_t i = first_trained_; i < specs_.size(); ++i) {
    const Tensor rows = marks(i);
    if (!rows) continue;
    const std::vector<int32_t> all(static_cast<size_t>(rows.rows()), kHasGradient | kHasMoments);
    copy_in(rows, all.data());
  }
}

// Clears the marked rows of x, or all of x without marks. Leaves the marks as they are, because
// unnecessary marks are harmless.
void Parameters::clear(Tensor x, Tensor marks, RowMark mark) {
  if (!marks) return kernels_->zero(x);
  for (int64_t row = 0; row < marks.rows(); ++row) {
    if ((marks.i32()[row] & mark) != 0) kernels_->zero(x.slice(row, 1));
  }
}

void Parameters::clear_moments() {
  if (moment_elements_) {
    kernels_->zero(first_moments());
    kernels_->zero(second_moments());
    return;
  }
  for (size_t i = first_trained_; i < specs_.size(); ++i) {
    clear(first_moment(i), marks(i), kHasMoments);
    clear(second_moment(i), marks(i), kHasMoments);
  }
}

void Parameters::clear_gradients() {
  for (size_t i = first_trained_; i < specs_.size(); ++i) {
    if (entries_[i].form == GradientForm::kSummed) clear(gradient(i), marks(i), kHasGradient);
  }
  for (Parameter& handle : handles_) handle.drop_product();
}

Tensor Parameters::values() const { return block_of(values_, size_); }
Tensor Parameters::gradients() const { return block_of(gradients_, summed_); }
Tensor Parameters::trained_values() const {
  return values().slice(moments_begin_, trained_elements());
}
Tensor Parameters::first_moments() const { return block_of(first_moments_, moment_elements()); }
Tensor Parameters::second_moments() const { return block_of(second_moments_, moment_elements()); }

Tensor Parameters::value(size_t index) const { return value_of(index, 1); }
Tensor Parameters::gradient(size_t index) const { return gradient_of(index, 1); }
Tensor Parameters::first_moment(size_t index) const { return moment_of(first_moments_, index); }
Tensor Parameters::second_moment(size_t index) const { return moment_of(second_moments_, index); }

Tensor Parameters::value(std::string_view name) const { return value(index_of(name)); }
Tensor Parameters::gradient(std::string_view name) const { return gradient(index_of(name)); }

bool Parameters::has(std::string_view name) const { return indices_.contains(name); }

size_t Parameters::index_of(std::string_view name) const {
  const auto at = indices_.find(name);
  if (at == indices_.end()) {
    throw Error(Code::kInternal, "no parameter named " + std::string(name));
  }
  return at->second;
}

Tensor Parameters::shape_of(size_t index, int count) const {
  const std::vector<int64_t>& shape = specs_[index].shape;
  Tensor tensor{.rank = static_cast<int>(shape.size())};
  std::copy(shape.begin(), shape.end(), tensor.shape.begin());
  tensor.shape[0] *= count;
  for (int i = 1; i < count; ++i) assert(specs_[index + static_cast<size_t>(i)].shape == shape);
  return tensor;
}

Tensor Parameters::value_of(size_t index, int count) const {
  Tensor tensor = shape_of(index, count);
  if (values_) tensor.data = values().slice(entries_[index].value, tensor.elements()).data;
  return tensor;
}

Tensor Parameters::gradient_of(size_t index, int count) const {
  Tensor tensor = shape_of(index, count);
  const Entry& entry = entries_[index];
  if (entry.form == GradientForm::kWhole) {
    return kept_at(entry.kept, tensor.rows(), tensor.columns());
  }
  if (entry.form == GradientForm::kSummed && gradients_) {
    tensor.data = gradients().slice(entry.gradient, tensor.elements()).data;
  }
  return tensor;
}

Tensor Parameters::moment_of(const std::unique_ptr<Memory>& block, size_t index) const {
  Tensor tensor = shape_of(index, 1);
  if (block && index >= first_trained_ && !moment_elements_) {
    tensor.data =
        block_of(block, trained_elements()).slice(entries_[index].moment, tensor.elements()).data;
  }
  return tensor;
}

ParameterBytes Parameters::bytes() const {
  ParameterBytes bytes{.values = fp32_bytes(size_),
                       .gradients = fp32_bytes(summed_),
                       .moments = 2 * fp32_bytes(moment_elements())};
  for (const Parameter& handle : handles_) {
    if (handle.weight_ != nullptr) bytes.packed += handle.weight_->packed_bytes();
  }
  return bytes;
}

void CpuTensors::read(size_t index, int64_t first, std::span<float> values) const {
  const Tensor tensor = tensor_of_(index);
  assert(tensor && first + static_cast<int64_t>(values.size()) <= tensor.elements());
  std::copy_n(tensor.f32() + first, values.size(), values.begin());
}

void CpuTensors::write(size_t index, int64_t first, Bytes values) {
  const Tensor tensor = tensor_of_(index);
  assert(tensor &&
         static_cast<size_t>(first) * sizeof(float) + values.size() <= tensor.size_bytes());
  written_ = true;
  if (!values.empty()) std::memcpy(tensor.f32() + first, values.data(), values.size());
}

}  // namespace berth
