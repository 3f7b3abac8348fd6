#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trainer/cpu/kernels/kernels.h"
#include "trainer/cpu/parameter.h"
#include "trainer/model/parameter_table.h"

namespace berth {

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
  Tensor first_moments()
      const;  // of parameters that train and have moments here, as second_moments()
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

}  // namespace berth
