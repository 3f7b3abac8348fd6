#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "storage/base/bytes.h"
#include "trainer/model/parameter_table.h"

namespace berth {

// One fp32 tensor for each parameter of a table, wherever an engine keeps it: the parameters'
// values, or one of the optimizer's two moments. Several threads may read or write different places
// at the same time.
class ParameterTensors {
 public:
  virtual ~ParameterTensors() = default;

  virtual std::span<const ParameterSpec> specs() const = 0;
  // Copies elements [first, first + values.size()) of parameter `index`. Moments exist only for a
  // parameter that trains, and may be read only for such a parameter.
  virtual void read(size_t index, int64_t first, std::span<float> values) const = 0;
  // Overwrites elements from `first` on. `values` holds fp32 numbers in this machine's byte order
  // and need not be aligned.
  virtual void write(size_t index, int64_t first, Bytes values) = 0;

  // All elements of one parameter.
  std::vector<float> read(size_t index) const {
    std::vector<float> values(static_cast<size_t>(specs()[index].elements()));
    read(index, 0, values);
    return values;
  }
};

// Tensors in this process's memory, for use without an engine. They start as zeros.
class HostTensors final : public ParameterTensors {
 public:
  explicit HostTensors(std::vector<ParameterSpec> specs);

  using ParameterTensors::read;
  std::span<const ParameterSpec> specs() const override { return specs_; }
  void read(size_t index, int64_t first, std::span<float> values) const override;
  void write(size_t index, int64_t first, Bytes values) override;

 private:
  std::vector<ParameterSpec> specs_;
  std::vector<std::vector<float>> tensors_;
};

// The number of elements of all parameters together.
int64_t total_elements(std::span<const ParameterSpec> specs);
// The number of elements of the parameters that train.
int64_t trained_elements(std::span<const ParameterSpec> specs);

}  // namespace berth
