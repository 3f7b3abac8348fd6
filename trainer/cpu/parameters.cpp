#include "trainer/cpu/parameters.h"

#include <algorithm>
#include <cassert>

#include "storage/base/error.h"

namespace berth {

namespace {

// Smaller matrices' gradients stay in a cache.
constexpr int64_t kLeastElements = 1 << 17;

// Whether a matrix [N,K] is better kept as the factors of a batch of T tokens: the products that
// tell its norm, T^2 (N + K) multiplications, are had for less than it takes to write N K numbers,
// read them twice and make them zeros again, as was measured of sums in fp32.
bool is_better_factored(const ParameterSpec& spec, int64_t tokens) {
  constexpr int64_t kMultiplicationsPerElement = 200, kMostTokens = 1024;
  return tokens <= kMostTokens && tokens * tokens * (spec.shape[0] + spec.shape[1]) <=
                                      kMultiplicationsPerElement * spec.elements();
}

// A sum of bf16 products loses nothing that matters when it is rounded once, as PyTorch's autocast
// does. It is then summed up in the cache, over all tokens at once, which is slower where they are
// more than this; the activations, among which it is kept, then have room for fp32.
constexpr int64_t kMostTokensRounded = 8192;

GradientForm form_of(const ParameterSpec& spec, int64_t tokens) {
  if (!spec.is_product || !spec.trains || tokens == 0 || spec.elements() < kLeastElements) {
    return GradientForm::kSummed;
  }
  return is_better_factored(spec, tokens) ? GradientForm::kFactored : GradientForm::kWhole;
}

int64_t kept_elements_of(const ParameterSpec& spec, GradientForm form, int64_t tokens) {
  switch (form) {
    case GradientForm::kSummed:
      return 0;
    case GradientForm::kWhole:
      return spec.elements();
    case GradientForm::kFactored:
      return tokens * (spec.shape[0] + spec.shape[1]);
  }
  return 0;
}

}  // namespace

Parameters::Parameters(std::vector<ParameterSpec> specs, int64_t update_tokens, DType kept_dtype)
    : specs_(std::move(specs)),
      update_tokens_(update_tokens),
      kept_dtype_(update_tokens > kMostTokensRounded ? DType::kF32 : kept_dtype) {
  int64_t deepest = 0;
  for (const ParameterSpec& spec : specs_) {
    offsets_.push_back(size_);
    size_ += spec.elements();
    forms_.push_back(form_of(spec, update_tokens));
    deepest = std::max(deepest, spec.depth);
  }
  kept_offsets_.resize(specs_.size());
  int64_t kept = 0;
  for (int64_t depth = deepest; depth >= 0; --depth) {
    for (size_t i = 0; i < specs_.size(); ++i) {
      if (specs_[i].depth != depth) continue;
      kept_offsets_[i] = kept;
      kept += kept_elements_of(specs_[i], forms_[i], update_tokens_);
    }
  }
}

Parameters::Parameters(std::vector<ParameterSpec> specs, bool with_gradients, Kernels& kernels,
                       int64_t update_tokens)
    : Parameters(std::move(specs), with_gradients ? update_tokens : 0, kernels.kept_dtype()) {
  const size_t size_bytes = static_cast<size_t>(size_) * sizeof(float);
  values_ = kernels.allocate(size_bytes);
  if (!with_gradients) return;
  gradients_ = kernels.allocate(size_bytes);
  if (kept_bytes() > 0) kernels.expect_sparse(gradients());
  for (const ParameterSpec& spec : specs_) {
    marks_.push_back(spec.is_looked_up && spec.trains
                         ? kernels.allocate(static_cast<size_t>(spec.shape[0]) * sizeof(int32_t))
                         : nullptr);
  }
}

size_t Parameters::kept_bytes(int64_t depth) const {
  int64_t elements = 0;
  for (size_t i = 0; i < specs_.size(); ++i) {
    if (specs_[i].depth < depth) continue;
    elements += kept_elements_of(specs_[i], forms_[i], update_tokens_);
  }
  return static_cast<size_t>(elements) * size_of(kept_dtype_);
}

void Parameters::keep_products(std::byte* room) {
  kept_ = room;
  for (ProductGradient& product : products_) place(product);
}

Tensor Parameters::kept_at(int64_t offset, int64_t rows, int64_t columns) const {
  return {.data = kept_ ? kept_ + static_cast<size_t>(offset) * size_of(kept_dtype_) : nullptr,
          .dtype = kept_dtype_,
          .rank = 2,
          .shape = {rows, columns}};
}

// Of neighbours that are joined, the factors' rooms lie end to end, too: x's takes less than they
// have.
void Parameters::place(ProductGradient& product) const {
  const int64_t offset = kept_offsets_[product.index];
  const int64_t columns = shape_of(product.index, 1).columns();
  const int64_t rows = (product.end - product.begin) / columns;
  if (product.form == GradientForm::kWhole) {
    product.whole = kept_at(offset, rows, columns);
  } else {
    product.room.dy = kept_at(offset, update_tokens_, rows);
    product.room.x = kept_at(offset + update_tokens_ * rows, update_tokens_, columns);
  }
}

ProductGradient* Parameters::product(std::string_view name, int count) {
  const size_t index = index_of(name);
  if (forms_[index] == GradientForm::kSummed) return nullptr;
  ProductGradient product{.index = index,
                          .begin = offsets_[index],
                          .end = offsets_[index] + shape_of(index, count).elements(),
                          .form = forms_[index]};
  for (const ProductGradient& known : products_) {
    if (known.end <= product.begin || product.end <= known.begin) continue;
    throw Error(Code::kInternal, "two layers keep the gradient of " + std::string(name));
  }
  place(product);
  return &products_.emplace_back(product);
}

Tensor Parameters::marks(size_t index) const {
  if (marks_.empty() || !marks_[index]) return {};
  return {.data = marks_[index]->data(),
          .dtype = DType::kI32,
          .rank = 1,
          .shape = {specs_[index].shape[0]}};
}

void Parameters::mark_all_rows(Kernels& kernels) {
  for (size_t i = 0; i < marks_.size(); ++i) {
    const Tensor rows = marks(i);
    if (!rows) continue;
    const std::vector<int32_t> all(static_cast<size_t>(rows.rows()), kHasGradient | kHasMoments);
    kernels.upload(rows, all.data());
  }
}

Tensor Parameters::values() const {
  return {.data = values_ ? values_->data() : nullptr, .rank = 1, .shape = {size_}};
}

Tensor Parameters::gradients() const {
  return {.data = gradients_ ? gradients_->data() : nullptr, .rank = 1, .shape = {size_}};
}

Tensor Parameters::value(std::string_view name, int count) const {
  return value_view(index_of(name), count);
}

Tensor Parameters::gradient(std::string_view name, int count) const {
  return gradient_view(index_of(name), count);
}

size_t Parameters::index_of(std::string_view name) const {
  for (size_t i = 0; i < specs_.size(); ++i) {
    if (specs_[i].name == name) return i;
  }
  throw Error(Code::kInternal, "no parameter named " + std::string(name));
}

Tensor Parameters::shape_of(size_t index, int count) const {
  const std::vector<int64_t>& shape = specs_[index].shape;
  Tensor tensor{.rank = static_cast<int>(shape.size())};
  std::copy(shape.begin(), shape.end(), tensor.shape.begin());
  tensor.shape[0] *= count;
  for (int i = 1; i < count; ++i) assert(specs_[index + i].shape == shape);
  return tensor;
}

Tensor Parameters::value_view(size_t index, int count) const {
  Tensor tensor = shape_of(index, count);
  if (values_) tensor.data = values().slice(offsets_[index], tensor.elements()).data;
  return tensor;
}

Tensor Parameters::gradient_view(size_t index, int count) const {
  Tensor tensor = shape_of(index, count);
  if (!gradients_ || !specs_[index].trains) return tensor;
  switch (forms_[index]) {
    case GradientForm::kSummed:
      tensor.data = gradients().slice(offsets_[index], tensor.elements()).data;
      break;
    case GradientForm::kWhole:
      tensor.dtype = kept_dtype_;
      tensor.data = kept_at(kept_offsets_[index], tensor.rows(), tensor.columns()).data;
      break;
    case GradientForm::kFactored:
      break;
  }
  return tensor;
}

}  // namespace berth
