#include "trainer/loop/snapshot.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "storage/base/error.h"
#include "storage/formats/safetensors.h"

namespace berth {
namespace {

// 1 MiB: a piece stays in the processor's cache from its copy to its checksum and to the file.
constexpr int64_t kPiece = int64_t{1} << 18;

uint64_t tensor_bytes(int64_t elements) { return static_cast<uint64_t>(elements) * sizeof(float); }

// A device copies whole tensors to the host, even if only a part is needed.
int64_t piece_elements(std::span<const ParameterSpec> specs, const EngineInfo& info) {
  int64_t largest = 0;
  for (const ParameterSpec& spec : specs) largest = std::max(largest, spec.elements());
  return info.updates_in_flight > 0 ? largest : std::min(largest, kPiece);
}

}  // namespace

uint64_t usual_copy_bytes(std::span<const ParameterSpec> specs, const EngineInfo& info) {
  const uint64_t all = 3 * tensor_bytes(trained_elements(specs));
  return info.updates_in_flight > 0 ? all : std::min(all, tensor_bytes(total_elements(specs)));
}

uint64_t writer_bytes(std::span<const ParameterSpec> specs, const EngineInfo& info) {
  return tensor_bytes(piece_elements(specs, info));
}

void Snapshot::begin(const TrainingState& state, const Engine& engine, const CopyLimits& limits) {
  const ParameterTensors& values = engine.tensors(StateTensors::kValues);
  const std::lock_guard lock(mutex_);
  state_ = state;
  limits_ = limits;
  usual_bytes_ = usual_copy_bytes(values.specs(), engine.info());
  piece_ = piece_elements(values.specs(), engine.info());
  tensors_ = saved_tensors(values);
  parameter_count_ = tensors_.size();
  for (const auto& [which, prefix] : {std::pair(StateTensors::kFirstMoments, kFirstMoment),
                                      std::pair(StateTensors::kSecondMoments, kSecondMoment)}) {
    for (SavedTensor& moment : saved_tensors(engine.tensors(which), prefix, Saved::kTraining)) {
      tensors_.push_back(std::move(moment));
    }
  }
  copies_.assign(tensors_.size(), {});
  next_ = 0;
  next_element_ = 0;
  has_changed_ = false;
  is_open_ = true;
}

void Snapshot::before_change() {
  std::unique_lock lock(mutex_);
  if (has_changed_) return;
  const auto few_are_left = [this](uint64_t most) {
    return [this, most] { return !is_open_ || unread_bytes() <= most; };
  };
  changed_.wait_for(lock, std::chrono::duration<double>(limits_.patience_s),
                    few_are_left(std::min(usual_bytes_, limits_.most_bytes)));
  changed_.wait(lock, few_are_left(limits_.most_bytes));
  if (is_open_) copy_unread();
  has_changed_ = true;
}

// The bytes of the tensors that an update changes.
uint64_t Snapshot::unread_bytes() const {
  int64_t elements = 0;
  for (size_t i = next_; i < tensors_.size(); ++i) {
    if (tensors_[i].spec().trains) elements += tensors_[i].spec().elements();
  }
  if (next_ < tensors_.size() && tensors_[next_].spec().trains) elements -= next_element_;
  return tensor_bytes(elements);
}

void Snapshot::copy_unread() {
  for (size_t i = next_; i < tensors_.size(); ++i) {
    const SavedTensor& tensor = tensors_[i];
    if (!tensor.spec().trains) continue;
    const int64_t first = i == next_ ? next_element_ : 0;
    copies_[i].resize(static_cast<size_t>(tensor.spec().elements() - first));
    tensor.from->read(tensor.parameter, first, copies_[i]);
  }
}

std::span<const SavedTensor> Snapshot::parameters() const {
  return std::span(tensors_).first(parameter_count_);
}
std::span<const SavedTensor> Snapshot::moments() const {
  return std::span(tensors_).subspan(parameter_count_);
}
uint64_t Snapshot::parameter_bytes() const { return size_bytes_of(parameters()); }
uint64_t Snapshot::moment_bytes() const { return size_bytes_of(moments()); }

void Snapshot::write_parameters(ByteSink& sink) {
  write(sink, 0, parameter_count_, {{"format", "pt"}});
}

void Snapshot::write_moments(ByteSink& sink) { write(sink, parameter_count_, tensors_.size(), {}); }

void Snapshot::write(ByteSink& sink, size_t first, size_t last, const Metadata& metadata) {
  start_at(first);
  std::vector<NamedTensor> named;
  for (size_t i = first; i < last; ++i) {
    named.push_back({.name = tensors_[i].name, .shape = tensors_[i].spec().shape});
  }
  begin_safetensors(sink, named, metadata);
  for (size_t i = first; i < last; ++i) write_tensor(sink, i);
}

void Snapshot::start_at(size_t index) {
  const std::lock_guard lock(mutex_);
  const bool goes_on = next_ == index && next_element_ == 0;
  if (!goes_on && has_changed_) {
    throw Error(Code::kUnavailable,
                "the storage lost the upload, and training has gone on since it began");
  }
  next_ = index;
  next_element_ = 0;
}

void Snapshot::write_tensor(ByteSink& sink, size_t index) {
  const SavedTensor& tensor = tensors_[index];
  const int64_t elements = tensor.spec().elements();
  std::vector<float> part;
  for (int64_t done = 0; done < elements; done += static_cast<int64_t>(part.size())) {
    {
      const std::lock_guard lock(mutex_);
      if (!copies_[index].empty()) {
        part = std::exchange(copies_[index], {});
      } else {
        part.resize(static_cast<size_t>(std::min(piece_, elements - done)));
        tensor.from->read(tensor.parameter, done, part);
      }
      next_element_ = done + static_cast<int64_t>(part.size());
    }
    changed_.notify_all();
    sink.write(std::as_bytes(std::span(part)));
  }
  const std::lock_guard lock(mutex_);
  next_ = index + 1;
  next_element_ = 0;
}

void Snapshot::end() {
  {
    const std::lock_guard lock(mutex_);
    is_open_ = false;
    copies_.clear();
  }
  changed_.notify_all();
}

}  // namespace berth
