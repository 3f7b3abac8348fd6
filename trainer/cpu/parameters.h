#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/cpu/kernels/kernels.h"
#include "trainer/model/parameter_table.h"

namespace berth {

// How a gradient is held until the update: added up in fp32, or, where all of it is one product of
// one batch, that product, written once, or its factors.
enum class GradientForm { kSummed, kWhole, kFactored };

// A matrix, or neighbours that are joined, whose gradient is one product that is not added up.
struct ProductGradient {
  size_t index = 0;            // the first one's
  int64_t begin = 0, end = 0;  // elements in values()
  GradientForm form{};
  Tensor whole{};           // [N,K], where it is kWhole
  FactoredGradient room{};  // where it is kFactored: for the tokens of any update
  // That the gradient is of, 0 where nothing was picked or masked; nullopt: there is none.
  std::optional<int64_t> tokens{};

  FactoredGradient factors() const { return {room.dy.first(*tokens), room.x.first(*tokens)}; }
};

// All parameters in one block of fp32, their gradients in another of the same layout (without
// gaps), where the backend computes. Layers hold views. Where an update is one batch, matrices'
// gradients are products that are kept elsewhere, whole or as factors: their place in that block is
// never touched, and so takes no memory. They live from a model's backward to the update, among its
// activations, those of deeper parameters first: see keep_products().
class Parameters {
 public:
  // Values and gradients start as zeros. update_tokens: of the largest batch, where each is an
  // update of its own; 0: gradients may be sums over several. Throws kMemory.
  Parameters(std::vector<ParameterSpec> specs, bool with_gradients, Kernels& kernels,
             int64_t update_tokens = 0);
  // A plan: all shapes, no memory; every view is null.
  explicit Parameters(std::vector<ParameterSpec> specs, int64_t update_tokens = 0,
                      DType kept_dtype = DType::kF32);

  std::span<const ParameterSpec> specs() const { return specs_; }
  int64_t size() const { return size_; }  // elements of all

  Tensor values() const;     // [size]
  Tensor gradients() const;  // [size]; null without gradients; zeros of what does not train
  Tensor value(size_t index) const { return value_view(index, 1); }
  // Null where it does not train, or is factored. One that is whole is a model's last backward's,
  // and null before there is a model.
  Tensor gradient(size_t index) const { return gradient_view(index, 1); }

  // By Hugging Face name, which must exist. `count` > 1 joins that many neighbours along rows.
  Tensor value(std::string_view name, int count = 1) const;
  Tensor gradient(std::string_view name, int count = 1) const;

  // The RowMarks of a parameter that is looked up and has gradients, int32 [rows]; else null. Who
  // writes to gradients or moments keeps them true; at first, all being zeros, no row has any.
  Tensor marks(size_t index) const;
  Tensor marks(std::string_view name) const { return marks(index_of(name)); }
  void mark_all_rows(Kernels& kernels);

  GradientForm gradient_form(size_t index) const { return forms_[index]; }
  // What a layer makes of a gradient that is not summed, for itself alone; else null. By name as
  // above.
  ProductGradient* product(std::string_view name, int count = 1);
  // All that layers have asked for; these outlive the updates.
  std::deque<ProductGradient>& products() { return products_; }
  // What is kept of products takes this in all, or of parameters that are so deep and deeper.
  size_t kept_bytes(int64_t depth = 0) const;
  // Where: kept_bytes(), aligned to 64, those of the deepest first; null in a plan. After all
  // layers asked.
  void keep_products(std::byte* room);

  // First element of parameter `index` in values().
  int64_t offset(size_t index) const { return offsets_[index]; }

 private:
  size_t index_of(std::string_view name) const;
  // Of `count` neighbours from `index` on, without data.
  Tensor shape_of(size_t index, int count) const;
  Tensor value_view(size_t index, int count) const;
  Tensor gradient_view(size_t index, int count) const;
  // Behind kept_, or null.
  Tensor kept_at(int64_t offset, int64_t rows, int64_t columns) const;
  void place(ProductGradient& product) const;

  std::vector<ParameterSpec> specs_;
  std::vector<int64_t> offsets_;
  std::vector<GradientForm> forms_;
  std::vector<int64_t> kept_offsets_;  // elements behind kept_, of those that are not summed
  int64_t size_ = 0, update_tokens_ = 0;
  std::unique_ptr<Memory> values_, gradients_;  // values_ null: a plan
  DType kept_dtype_;                            // of products and factors
  std::byte* kept_ = nullptr;                   // the model's
  std::deque<ProductGradient> products_;        // does not move
  std::vector<std::unique_ptr<Memory>> marks_;  // of every parameter, null where it has none
};

}  // namespace berth
