#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <span>
#include <vector>

#include "trainer/engine/device.h"
#include "trainer/model/parameter_tensors.h"
#include "trainer/xla/pjrt/client.h"
#include "trainer/xla/pjrt/executable.h"

namespace berth {

// The devices of this host on which replicas of programs run. With several hosts, a training
// program has replicas on the others, too.
struct XlaReplicas {
  const PjrtClient& client;
  std::vector<PjrtDevice> devices;
  // The numbers of their replicas among the replicas of all hosts, increasing. Empty: there is one
  // host, and devices[r] runs replica r.
  std::vector<size_t> numbers{};
  size_t all_hosts = 0;  // the replicas of all hosts; 0: there is one

  size_t count() const { return devices.size(); }
  bool is_on_several_hosts() const { return all_hosts > 0; }
  // The replicas of a training program, and the number of the one on devices[r] among them.
  size_t total() const { return is_on_several_hosts() ? all_hosts : count(); }
  size_t number(size_t r) const { return numbers.empty() ? r : numbers[r]; }
  // The devices of this host, for programs that every host runs alone. Empty where there is one
  // host: the plugin's choice is these devices then.
  std::vector<int> local_assignment() const;
  // The memory of the device with the least free memory. nullopt if a device does not report it.
  std::optional<DeviceMemory> memory() const;
  // A copy of the same values on the device of each replica.
  std::vector<PjrtBuffer> upload(std::span<const std::byte> values, DType dtype,
                                 std::span<const int64_t> dimensions) const;
};

// A tensor for each parameter of a table, or for each that trains, as a buffer on the device of
// every replica. All replicas have the same values, except for gradients. What is written stays in
// host memory until upload_written().
//
// Thread-safe where ParameterTensors must be. Borrows the replicas.
class XlaTensors final : public ParameterTensors {
 public:
  enum class Of { kAll, kTrained };

  // Zeros. Throws kMemory.
  XlaTensors(const XlaReplicas& replicas, std::vector<ParameterSpec> specs, Of which);

  using ParameterTensors::read;
  std::span<const ParameterSpec> specs() const override { return specs_; }
  void read(size_t index, int64_t first, std::span<float> values) const override;
  void write(size_t index, int64_t first, Bytes values) override;

  // Brings what was written to the devices.
  void upload_written();
  void set_to_zeros();

  // Appends the tensors of a replica, in the order of the table.
  void append_to(PjrtArguments& arguments, size_t replica) const;
  // Takes the outputs from `next` on as the tensors that train, which they replace.
  void replace_trained(std::vector<PjrtBuffer>& outputs, size_t& next, size_t replica);

 private:
  void set(size_t index, std::span<const float> values);
  void download(size_t index, std::span<float> values) const;

  const XlaReplicas& replicas_;
  const std::vector<ParameterSpec> specs_;
  const Of which_;
  std::vector<std::vector<PjrtBuffer>> buffers_;  // [parameter][replica]; none where none exists
  mutable std::mutex mutex_;                      // of the map, not of the values in it
  std::map<size_t, std::vector<float>> written_;  // by parameter
};

}  // namespace berth
