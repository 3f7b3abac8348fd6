#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "storage/base/dtype.h"
#include "trainer/cpu/kernels/bf16/bf16_products.h"
#include "trainer/cpu/kernels/kernels.h"
#include "trainer/cpu/kernels/tensor.h"
#include "trainer/model/parameter_table.h"
#include "trainer/model/parameter_tensors.h"

namespace berth {

// How the gradient of a parameter is held from backward until the update.
enum class GradientForm {
  kNone,      // The parameter does not train: no gradient is computed.
  kSummed,    // An fp32 tensor of the parameter's shape, to which backward adds.
  kWhole,     // The one product dy^T x that is the gradient, written once.
  kFactored,  // The factors dy and x of that product. The update multiplies them.
};

// The facts that decide the form of gradients. It is the same in all updates and on all ranks, so a
// resumed run does the same.
struct GradientRule {
  // The tokens of the largest batch, where every update is one batch; 0 where an update may sum the
  // gradients of several. With several ranks, each rank has one, and this is an equal share of
  // them.
  int64_t update_tokens = 0;
  // Whether ranks add up their gradients, which they cannot do with factors.
  bool is_shared = false;
};

GradientForm gradient_form(const ParameterSpec& spec, const GradientRule& rule);

// What a layer holds of one parameter: its values, its packed copies, and the place of its
// gradient. A handle may also stand for neighbours of the parameter table that one product computes
// together, as query, key and value: their rows then lie end to end. Parameters makes the handles,
// owns the memory behind them, and must outlive them.
//
// Handles may overlap where gradients are summed: DeBERTa's query and key are one handle for the
// products of positions, besides being a part of the handle for the products of tokens. Each handle
// has packed copies of its own, of the same values.
class Parameter {
 public:
  // The fp32 values, [rows, ...] in the table's shape.
  Tensor value() const { return value_; }

  // The values as the right factor of products, with their packed copies. Only of a handle that
  // Parameters::factor() returned.
  const Weight& weight() const { return *weight_; }

  GradientForm form() const { return form_; }
  bool trains() const { return form_ != GradientForm::kNone; }

  // The tensor that backward writes, in the shape of value(): it adds to a kSummed one, and
  // overwrites a kWhole one. Null where the gradient has another form. A kWhole one is also null
  // until a model has placed it (Parameters::keep_products).
  Tensor gradient() const { return gradient_; }

  // The RowMarks of a table that is looked up, int32 [rows]; null for other parameters and without
  // gradients. Whoever writes to gradients or moments keeps them true.
  Tensor marks() const { return marks_; }

  // Whether the gradient is one product that is kept until the update: kWhole or kFactored.
  bool keeps_product() const {
    return form_ == GradientForm::kWhole || form_ == GradientForm::kFactored;
  }
  // Called by backward: the gradient of this update is dy^T x. If the form is kWhole, backward has
  // already written it. If the form is kFactored, copies the factors. Does nothing for other forms.
  // Throws kInternal if the update already has a product.
  void take_product(Kernels& kernels, ConstTensor dy, ConstTensor x);
  // The number of tokens of the update's product. nullopt if backward has not made it. It is 0 if
  // no token was selected or masked.
  std::optional<int64_t> product_tokens() const { return tokens_; }
  // The factors of a kFactored gradient that the update has.
  FactoredGradient factors() const;
  // The update has used the product.
  void drop_product() { tokens_.reset(); }

  // The first of its parameters in the table, and the number of them.
  size_t index() const { return index_; }
  int count() const { return count_; }

 private:
  friend class Parameters;

  size_t index_ = 0;
  int count_ = 1;
  Tensor value_{}, gradient_{}, marks_{};
  GradientForm form_ = GradientForm::kNone;
  Tensor kept_dy_{}, kept_x_{};  // the factors of a kFactored one, for the most tokens of an update
  std::optional<int64_t> tokens_{};
  std::unique_ptr<Weight> weight_{};
};

// What parameters take, in bytes. Gradients that are kept as products are not among them: they are
// part of a model's activations.
struct ParameterBytes {
  size_t values = 0;     // of all parameters
  size_t gradients = 0;  // of parameters that train and whose gradients are summed
  size_t moments = 0;    // both moments of parameters that train
  size_t packed = 0;     // copies of the factors of the layers' handles
};

// All parameters of a model and what training keeps of each. Values are one block in the order of
// the table, without gaps. Summed gradients are a second block, in the same order; the two moments
// are a block each. Parameters that do not train have no place in these: what trains is one end of
// the table.
//
// Where every update is one batch of each rank, the gradients of large matrices are products that
// are kept elsewhere: among the activations of the model, which places them. Not thread-safe.
class Parameters {
 public:
  // Values, gradients, moments and marks start as zeros. Without gradients nothing trains.
  // `moment_elements` is the size of each block of moments on this rank if other ranks hold
  // moments, too (OptimizerShards). nullopt: this rank has the moments of all elements that train.
  // Borrows `kernels`. Throws kMemory.
  Parameters(std::vector<ParameterSpec> specs, bool with_gradients, Kernels& kernels,
             GradientRule rule = {}, std::optional<int64_t> moment_elements = {});
  // The same without memory: all shapes and bytes() are there, and every tensor is null.
  static Parameters plan(std::vector<ParameterSpec> specs, bool with_gradients, Kernels& kernels,
                         GradientRule rule = {}, std::optional<int64_t> moment_elements = {});

  std::span<const ParameterSpec> specs() const { return specs_; }
  int64_t size() const { return size_; }  // elements of all
  // The index of the first parameter that trains; specs().size() where none does.
  size_t first_trained() const { return first_trained_; }
  // The first element of parameter `index` in values().
  int64_t offset(size_t index) const { return entries_[index].value; }

  // ---- By index in the table -------------------------------------------------------------------
  // Only parameters that train have gradients and moments. The others' are null. Where other ranks
  // keep moments too, first_moment() and second_moment() are null for all.
  Tensor value(size_t index) const;
  // Null if the form is kFactored. If it is kWhole, null until a model has placed the gradient.
  Tensor gradient(size_t index) const;
  Tensor first_moment(size_t index) const;   // exp_avg
  Tensor second_moment(size_t index) const;  // exp_avg_sq
  // As Parameter::marks().
  Tensor marks(size_t index) const;
  GradientForm gradient_form(size_t index) const { return entries_[index].form; }

  // ---- Handles, by Hugging Face name, which must exist -----------------------------------------
  // `count` > 1 joins that many neighbours along rows. The same arguments return the same handle,
  // which lives as long as the parameters. Throws kInternal where two handles would keep the
  // product of one gradient.
  Parameter& parameter(std::string_view name, int count = 1);
  bool has(std::string_view name) const;
  // The same for a matrix that products take. Its packed copies are made of the values at the time
  // of the call, and again in refresh(). A parameter of three dimensions is taken as a matrix of as
  // many rows.
  Parameter& factor(std::string_view name, int count = 1);
  // The values and the gradient of one parameter, without a handle.
  Tensor value(std::string_view name) const;
  Tensor gradient(std::string_view name) const;
  // All handles, in the order of their creation.
  std::deque<Parameter>& handles() { return handles_; }

  // Packs all factors again, after values have changed.
  void refresh();

  // ---- Whole blocks ----------------------------------------------------------------------------
  Tensor values() const;          // [size()]
  Tensor trained_values() const;  // of parameters that train
  Tensor gradients() const;       // of the summed ones
  // Of parameters that train, and have moments here.
  Tensor first_moments() const;
  Tensor second_moments() const;

  // Sets all moments to zero. Rows without moments, according to their marks, are not written, so
  // that they still take no memory. There are such rows if other ranks hold moments, too.
  void clear_moments();
  // Drops the gradients of an abandoned update. Summed gradients become zero in the same way, and
  // there are no products afterwards.
  void clear_gradients();
  // To be called after writing to gradients or moments without marking their rows.
  void mark_all_rows();

  // ---- Products that are kept among a model's activations --------------------------------------
  // The bytes of all kept gradients, or only of the parameters at `depth` and deeper.
  size_t kept_bytes(int64_t depth = 0) const;
  // Places the kept gradients in the memory `room`, the deepest parameters first. `room` is aligned
  // to 64 bytes and has kept_bytes(). It is null while a model is only planned. Throws kInternal if
  // another model has placed them.
  void keep_products(std::byte* room);
  // To be called in place of backward where this rank has no batch in an update: all products are
  // zeros. Only where gradients are shared.
  void make_empty_products();

  ParameterBytes bytes() const;

 private:
  // The places of the parts of one parameter, in elements from the beginning of their block.
  struct Entry {
    int64_t value = 0, gradient = 0, moment = 0, kept = 0;
    GradientForm form = GradientForm::kNone;
    std::unique_ptr<Memory> marks{};
    std::vector<Parameter*> handles{};  // the handles that cover it
  };

  Parameters(Kernels& kernels, std::vector<ParameterSpec> specs, bool with_gradients,
             GradientRule rule, std::optional<int64_t> moment_elements);
  void allocate();
  int64_t trained_elements() const { return with_gradients_ ? size_ - moments_begin_ : 0; }
  int64_t moment_elements() const { return moment_elements_.value_or(trained_elements()); }
  size_t index_of(std::string_view name) const;
  // The shape of `count` neighbours from `index` on, without data.
  Tensor shape_of(size_t index, int count) const;
  Tensor value_of(size_t index, int count) const;
  Tensor gradient_of(size_t index, int count) const;
  Tensor moment_of(const std::unique_ptr<Memory>& block, size_t index) const;
  // Behind kept_, or null.
  Tensor kept_at(int64_t offset, int64_t rows, int64_t columns) const;
  void place(Parameter& handle) const;
  // Zeroes x, or only the rows that have the mark.
  void clear(Tensor x, Tensor marks, RowMark mark);
  WeightUse use_of(const Parameter& handle) const;

  Kernels* kernels_;
  std::vector<ParameterSpec> specs_;
  std::vector<Entry> entries_;
  std::unordered_map<std::string_view, size_t> indices_;  // by the names in specs_
  std::map<int64_t, int64_t> kept_from_;  // elements of kept gradients at a depth and deeper
  bool with_gradients_;
  GradientRule rule_;
  std::optional<int64_t> moment_elements_;
  DType kept_dtype_;
  int64_t size_ = 0, summed_ = 0;  // elements
  size_t first_trained_ = 0;
  int64_t moments_begin_ = 0;  // the first element of what trains
  std::unique_ptr<Memory> values_, gradients_, first_moments_, second_moments_;
  std::byte* kept_ = nullptr;      // the model's
  std::deque<Parameter> handles_;  // does not move
};

// The CPU engine's tensors as every engine shows them. Borrows the parameters.
class CpuTensors final : public ParameterTensors {
 public:
  // `tensor_of` says where the tensor of a parameter lies.
  CpuTensors(const Parameters& parameters, std::function<Tensor(size_t index)> tensor_of)
      : parameters_(parameters), tensor_of_(std::move(tensor_of)) {}
  // The parameters' values.
  explicit CpuTensors(const Parameters& parameters)
      : CpuTensors(parameters, [&](size_t index) { return parameters.value(index); }) {}

  using ParameterTensors::read;
  std::span<const ParameterSpec> specs() const override { return parameters_.specs(); }
  void read(size_t index, int64_t first, std::span<float> values) const override;
  void write(size_t index, int64_t first, Bytes values) override;
  // Whether anything was written since the last call.
  bool take_written() { return written_.exchange(false); }

 private:
  const Parameters& parameters_;
  std::function<Tensor(size_t index)> tensor_of_;
  std::atomic<bool> written_ = false;
};

}  // namespace berth
