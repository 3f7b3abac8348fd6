#include "trainer/xla/xla_tensors.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace berth {

std::optional<DeviceMemory> XlaReplicas::memory() const {
  std::optional<DeviceMemory> least;
  const auto room = [](const DeviceMemory& memory) {
    return static_cast<int64_t>(memory.limit.value_or(0)) - static_cast<int64_t>(memory.in_use);
  };
  for (const PjrtDevice& device : devices) {
    const auto reported = client.memory_of(device);
    if (!reported) return std::nullopt;
    const DeviceMemory memory{.in_use = static_cast<uint64_t>(reported->in_use),
                              .peak_in_use = reported->peak_in_use,
                              .limit = reported->limit};
    if (!least || room(memory) < room(*least)) least = memory;
  }
  return least;
}

std::vector<int> XlaReplicas::local_assignment() const {
  std::vector<int> ids;
  if (!is_on_several_hosts()) return ids;
  for (const PjrtDevice& device : devices) ids.push_back(device.id);
  return ids;
}

std::vector<PjrtBuffer> XlaReplicas::upload(std::span<const std::byte> values, DType dtype,
                                            std::span<const int64_t> dimensions) const {
  std::vector<PjrtBuffer> buffers;
  for (const PjrtDevice& device : devices) {
    buffers.push_back(client.upload(values, dtype, dimensions, device));
  }
  return buffers;
}

XlaTensors::XlaTensors(const XlaReplicas& replicas, std::vector<ParameterSpec> specs, Of which)
    : replicas_(replicas), specs_(std::move(specs)), which_(which), buffers_(specs_.size()) {
  set_to_zeros();
}

void XlaTensors::set(size_t index, std::span<const float> values) {
  buffers_[index] = replicas_.upload(std::as_bytes(values), DType::kF32, specs_[index].shape);
}

void XlaTensors::set_to_zeros() {
  std::vector<float> zeros;
  for (size_t i = 0; i < specs_.size(); ++i) {
    if (which_ == Of::kTrained && !specs_[i].trains) continue;
    const auto elements = static_cast<size_t>(specs_[i].elements());
    zeros.resize(std::max(zeros.size(), elements));
    buffers_[i].clear();  // before its successor needs memory
    set(i, std::span(zeros).first(elements));
  }
  const std::lock_guard lock(mutex_);
  written_.clear();
}

void XlaTensors::download(size_t index, std::span<float> values) const {
  assert(!buffers_[index].empty());
  buffers_[index].front().download(std::as_writable_bytes(values));
}

void XlaTensors::read(size_t index, int64_t first, std::span<float> values) const {
  const auto elements = static_cast<size_t>(specs_[index].elements());
  assert(static_cast<size_t>(first) + values.size() <= elements);
  {
    const std::lock_guard lock(mutex_);
    const auto found = written_.find(index);
    if (found != written_.end()) {
      std::copy_n(found->second.begin() + first, values.size(), values.begin());
      return;
    }
  }
  if (values.size() == elements) return download(index, values);
  std::vector<float> all(elements);
  download(index, all);
  std::copy_n(all.begin() + first, values.size(), values.begin());
}

void XlaTensors::write(size_t index, int64_t first, Bytes values) {
  const auto elements = static_cast<size_t>(specs_[index].elements());
  assert(static_cast<size_t>(first) * sizeof(float) + values.size() <= elements * sizeof(float));
  float* to = nullptr;
  {
    const std::lock_guard lock(mutex_);
    const auto [written, is_new] = written_.try_emplace(index);
    if (is_new) {
      written->second.resize(elements);
      if (values.size() < elements * sizeof(float)) download(index, written->second);
    }
    to = written->second.data() + first;
  }
  if (!values.empty()) std::memcpy(to, values.data(), values.size());
}

void XlaTensors::upload_written() {
  const std::lock_guard lock(mutex_);
  for (; !written_.empty(); written_.erase(written_.begin())) {
    const auto& [index, values] = *written_.begin();
    set(index, values);
  }
}

void XlaTensors::append_to(PjrtArguments& arguments, size_t replica) const {
  for (const std::vector<PjrtBuffer>& of_replicas : buffers_) {
    if (!of_replicas.empty()) arguments.push_back(&of_replicas[replica]);
  }
}

void XlaTensors::replace_trained(std::vector<PjrtBuffer>& outputs, size_t& next, size_t replica) {
  for (size_t i = 0; i < specs_.size(); ++i) {
    if (specs_[i].trains) buffers_[i][replica] = std::move(outputs[next++]);
  }
}

}  // namespace berth
