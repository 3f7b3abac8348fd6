#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "storage/base/error.h"
#include "trainer/engine/device.h"
#include "trainer/model/parameter_tensors.h"
#include "trainer/xla/layout/laid_out_batch.h"
#include "trainer/xla/network/programs.h"
#include "trainer/xla/pjrt/client.h"
#include "trainer/xla/pjrt/executable.h"
#include "trainer/xla/pjrt/executable_cache.h"

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

// The programs of one engine, each compiled when it is first needed. Compiling takes from seconds
// to minutes and is logged. Not thread-safe. Borrows the replicas and the cache.
class XlaPrograms {
 public:
  enum class Kind { kTraining, kAccumulation, kApplication, kPart, kComparison, kInference };

  struct Compiled {
    PjrtExecutable executable;
    std::vector<std::string> batch_inputs;  // in the order of the program's last inputs
    int64_t tokens = 0;                     // of its batch, padding included
  };

  XlaPrograms(const XlaReplicas& replicas, const ExecutableCache& cache, ProgramOptions options)
      : replicas_(replicas), cache_(cache), options_(std::move(options)) {}

  // An application has no batch: its shape is BatchShape(). Throws what compiling throws.
  const Compiled& get(Kind kind, const BatchShape& shape);
  // What a compiled program takes of a device's memory for its batch, as the compiler planned it.
  struct BatchMemory {
    int64_t size_bytes = 0;
    int64_t tokens = 0;
  };
  // The largest BatchMemory of the compiled programs. nullopt if none is compiled, or if the plugin
  // does not report it.
  std::optional<BatchMemory> largest() const;
  const ProgramOptions& options() const { return options_; }
  // How long get() has compiled so far, or loaded compiled programs from the cache.
  double compile_seconds() const { return compile_seconds_; }

 private:
  Compiled compile(Kind kind, const BatchShape& shape);

  const XlaReplicas& replicas_;
  const ExecutableCache& cache_;
  const ProgramOptions options_;
  std::map<std::pair<Kind, BatchShape>, Compiled> compiled_;
  double compile_seconds_ = 0;
};

// The memory that an XLA engine takes on each of `replicas` devices, or on all of them if their
// memory is the host's (`on_host`). Parameters, moments and the
// gradients of several micro-batches are exact. Activations are an estimate for the largest batch,
// because only the compiler knows: of what the layers keep for the backward pass, of the scores of
// attention, of the logits, and of the gradients of a single micro-batch.
//
// `plugin` is without the plugin itself: it is what its compiler takes to compile the programs.
EngineMemory xla_memory(const EngineOptions& options, size_t replicas, bool on_host);

// If `error` is kMemory and the devices report their memory: the same error with a hint how many
// tokens a batch may have. It is computed from the compiler's plan for the largest `compiled`
// program. If no program was compiled, it is computed from the estimate. Any other error as it is.
Error with_batch_that_fits(const Error& error, const EngineOptions& options,
                           const XlaReplicas& replicas,
                           const std::optional<XlaPrograms::BatchMemory>& compiled = {});

// The engine of a PJRT plugin's devices. Its state is in their memory, in buffers that each update
// donates to its successor. start_update() lays the batch out, and starts its upload and the
// programs. It does not wait for them, so a batch is laid out while the update before it runs.
// Borrows replicas and cache.
//
// With several hosts, the engine of each is given the same whole updates. It lays them out for the
// devices of all hosts, and computes the parts of its own devices, as JAX's processes do. The
// programs add over all devices. Each host infers alone, from batches of its own.
class XlaEngine final : public Engine {
 public:
  // Throws kMemory where the state does not fit. `profiler`, which may change while the engine
  // lives, records what the host does and how long it waits for the devices; null: nothing does.
  XlaEngine(const EngineInfo& info, const EngineOptions& options, const XlaReplicas& replicas,
            const ExecutableCache& cache, DropoutGenerator generator, Profiler* const& profiler);
  ~XlaEngine() override;

  const EngineInfo& info() const override { return info_; }
  ParameterTensors& tensors(StateTensors which) override;
  void tensors_written() override;
  void clear_moments() override;
  bool start_update(std::span<const PackedBatch> micro_batches, const UpdateInputs& inputs,
                    const std::atomic<bool>& stop) override;
  UpdateOutcome collect_update() override;
  double compile_seconds() const override;
  std::vector<float> infer(const PackedBatch& batch, LossSum& loss) override;

 private:
  struct Work;

  std::unique_ptr<Work> begin_work(const UpdateInputs& inputs) const;
  // Starts a program on a batch, which is laid out here, or on none. Takes the outputs that replace
  // state, and returns the others, by replica. `generator` is null, or the generator that computes.
  using Outputs = std::vector<std::vector<PjrtBuffer>>;
  struct Generator;
  Outputs start(XlaPrograms::Kind kind, const PackedBatch* batch, Work& work,
                const UpdateNumbers& numbers = {}, Generator* generator = nullptr);
  // The same with work.batches.back(), or without a batch where `has_batch` is false.
  Outputs start_laid_out(XlaPrograms::Kind kind, bool has_batch, Work& work, Generator* generator);
  // Waits for output `which` of a program whose batch is the work's last one: its rows in the
  // batch's order.
  std::vector<float> fetch(const Outputs& outputs, size_t which, Work& work) const;
  struct Inferred {
    std::vector<float> logits{}, drawn{};
    LossSum loss{};
  };
  Inferred infer_by(Generator* generator, const PackedBatch& batch, const UpdateNumbers& numbers);
  // Gradient caching: starts an update's part of a batch, whose parts are computed twice, and waits
  // for all but the last one.
  void start_parts(const PackedBatch& batch, Work& work);
  struct Compared {
    std::vector<float> gradients{}, outputs{};
    std::array<float, 2> sums{};
  };
  Compared compare(const PackedBatch& batch, std::span<const float> embeddings, Work& work);
  Inferred infer_parts(const PackedBatch& batch);
  // Starts the discriminator's part of an update, behind the generator's, and waits for that.
  void start_detection(const Outputs& of_generator, const PackedBatch& batch, double scale,
                       Work& work);
  const PjrtBuffer* upload(const HostTensor& tensor, size_t replica, Work& work) const;
  Error explained(const Error& error) const;

  const EngineInfo info_;
  const EngineOptions options_;
  const BatchLimits limits_;  // of what a program computes: a batch, or a part of one
  const XlaReplicas& replicas_;
  // For programs on all hosts' devices, and for those on the devices here.
  const std::vector<BatchShape> shapes_, local_shapes_;
  Profiler* const& profiler_;
  XlaPrograms programs_;
  std::unique_ptr<Generator> generator_;  // null unless the config has one
  XlaTensors values_;
  std::optional<XlaTensors> first_moments_, second_moments_;  // Absent where it only infers.
  // Sums over the micro-batches of an update: the sums of the gradients, and as the last tensor the
  // sums of losses and weights. Each replica has its own. Absent where every update is one
  // program, of one micro-batch.
  std::optional<XlaTensors> gradients_;
  std::deque<std::unique_ptr<Work>> started_;  // updates that were not collected
};

}  // namespace berth
