#include "trainer/model/parameters.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numbers>

#include "storage/base/crc32c.h"
#include "storage/base/error.h"
#include "storage/base/philox.h"
#include "trainer/kernels/thread_pool.h"

namespace berth {

Parameters::Parameters(std::vector<ParameterSpec> specs) : specs_(std::move(specs)) {
  for (const ParameterSpec& spec : specs_) {
    offsets_.push_back(size_);
    size_ += spec.elements();
  }
}

Parameters::Parameters(std::vector<ParameterSpec> specs, bool with_gradients, Kernels& kernels)
    : Parameters(std::move(specs)) {
  const size_t size_bytes = static_cast<size_t>(size_) * sizeof(float);
  values_ = kernels.allocate(size_bytes);
  if (!with_gradients) return;
  gradients_ = kernels.allocate(size_bytes);
  for (const ParameterSpec& spec : specs_) {
    marks_.push_back(spec.is_looked_up && spec.trains
                         ? kernels.allocate(static_cast<size_t>(spec.shape[0]) * sizeof(int32_t))
                         : nullptr);
  }
  mark_all_rows(kernels);
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
  return view(values_.get(), index_of(name), count);
}

Tensor Parameters::gradient(std::string_view name, int count) const {
  const size_t index = index_of(name);
  return view(gradients_of(index), index, count);
}

size_t Parameters::index_of(std::string_view name) const {
  for (size_t i = 0; i < specs_.size(); ++i) {
    if (specs_[i].name == name) return i;
  }
  throw Error(Code::kInternal, "no parameter named " + std::string(name));
}

Tensor Parameters::view(const Memory* memory, size_t index, int count) const {
  const std::vector<int64_t>& shape = specs_[index].shape;
  Tensor tensor{.rank = static_cast<int>(shape.size())};
  std::copy(shape.begin(), shape.end(), tensor.shape.begin());
  tensor.shape[0] *= count;
  for (int i = 1; i < count; ++i) assert(specs_[index + i].shape == shape);
  if (memory != nullptr) {
    tensor.data = memory->data() + static_cast<size_t>(offsets_[index]) * sizeof(float);
  }
  return tensor;
}

namespace {

// Standard normal values by Box and Muller's transform of Philox blocks: four a block.
void fill_normal(std::span<float> values, double deviation, uint64_t seed, uint32_t stream,
                 ThreadPool& pool) {
  const std::array<uint32_t, 2> key = {static_cast<uint32_t>(seed),
                                       static_cast<uint32_t>(seed >> 32)};
  const auto fill_block = [&](uint64_t block) {
    const size_t begin = block * 4;
    const std::array<uint32_t, 4> random = philox4x32(
        {static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32), stream, 0x696E6974},
        key);
    float normal[4];
    for (int pair = 0; pair < 2; ++pair) {
      const double u = (random[2 * pair] + 0.5) * 0x1p-32;
      const double angle = 2 * std::numbers::pi * random[2 * pair + 1] * 0x1p-32;
      const double radius = deviation * std::sqrt(-2 * std::log(u));
      normal[2 * pair] = static_cast<float>(radius * std::cos(angle));
      normal[2 * pair + 1] = static_cast<float>(radius * std::sin(angle));
    }
    const size_t count = std::min<size_t>(4, values.size() - begin);
    std::copy_n(normal, count, values.begin() + static_cast<std::ptrdiff_t>(begin));
  };
  constexpr int64_t kBlocksPerThread = 1024;
  const auto blocks = static_cast<int64_t>((values.size() + 3) / 4);
  pool.parallel_for(blocks, kBlocksPerThread, [&](int64_t begin, int64_t end, int) {
    for (int64_t block = begin; block < end; ++block) fill_block(static_cast<uint64_t>(block));
  });
}

}  // namespace

void initialize(Parameters& parameters, std::span<const size_t> indices, double initializer_range,
                uint64_t seed, Kernels& kernels) {
  ThreadPool pool(available_threads());
  std::vector<float> values;
  for (const size_t index : indices) {
    const ParameterSpec& spec = parameters.specs()[index];
    values.assign(static_cast<size_t>(spec.elements()),
                  spec.initial == Initial::kOnes ? 1.0f : 0.0f);
    if (spec.initial == Initial::kNormal) {
      fill_normal(values, initializer_range, seed, crc32c(as_bytes(spec.name)), pool);
    }
    kernels.upload(parameters.value(index), values.data());
  }
}

}  // namespace berth
