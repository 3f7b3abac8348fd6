#pragma once

#include <atomic>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "trainer/model/batch.h"
#include "trainer/model/parameter_tensors.h"
#include "trainer/model/update.h"

namespace berth {

// The device and the library that compute, for people and for records.
struct EngineInfo {
  // "cpu-fp32-avx2, OpenBLAS Zen, 2 threads": state.json records it, because results repeat bit for
  // bit only on the same one.
  std::string description{};
  Precision precision = Precision::kFp32;  // of matrix products; never kAuto
  int threads = 0;  // of this process, that compute; 0: another device computes
  // The maximum number of updates in flight when another update is started. 0 means that an update
  // is done when start_update() returns, so its outcome costs no waiting.
  size_t updates_in_flight = 0;
};

// A sum of losses over examples, and the sum of these examples' weights.
struct LossSum {
  double loss = 0, weight = 0;
  // The same for a second loss, for tasks with two: their loss is the sum of both means.
  // `second_loss` already includes the factor of the second mean.
  double second_loss = 0, second_weight = 0;
};

enum class StateTensors { kValues, kFirstMoments, kSecondMoments };

// A model with its optimizer, on whatever device computes it. The loop, evaluation, prediction and
// checkpoints know only this interface. Three implementations stand behind it: the CPU's own
// kernels (trainer/cpu), compiled programs on TPUs and GPUs (trainer/xla), and a fake one in the
// tests.
//
// Not thread-safe: one thread at a time calls, except that tensors() may be read and written by
// several threads where ParameterTensors allows it. Failures are thrown as Error.
class Engine {
 public:
  virtual ~Engine() = default;

  virtual const EngineInfo& info() const = 0;

  // ---- State ---------------------------------------------------------------------------------
  // The values of all parameters, or the moments (exp_avg, exp_avg_sq) of the parameters that
  // train. The engine owns the result. No update may be in flight while it is written. It may be
  // read until an update changes it, also while the update runs its forward and backward passes;
  // see call_before_change().
  virtual ParameterTensors& tensors(StateTensors which) = 0;
  const ParameterTensors& tensors(StateTensors which) const {
    return const_cast<Engine*>(this)->tensors(which);
  }
  // Whether each rank holds only a share of the moments. Then, on rank 0, tensors() reads and
  // writes the moments of all ranks, while these have their engines. On the other ranks, it shows
  // only the rank's own share.
  virtual bool shards_moments() const { return false; }
  // To be called after tensors were written and before the next update or inference: the engine
  // then renews derived data, such as packed copies.
  virtual void tensors_written() = 0;
  // Sets both moments to zero, as they are before the first update.
  virtual void clear_moments() = 0;

  // `call` runs on the thread that starts updates, each time before an update changes tensors that
  // train. They may be read by another thread until it returns. Until then, other ranks do not
  // change the moments that this engine shows. The tensors of parameters that do not train never
  // change. Empty: nothing is called.
  void call_before_change(std::function<void()> call) { before_change_ = std::move(call); }

  // ---- Training ------------------------------------------------------------------------------
  // Starts one update: forward and backward of every micro-batch, clipping, the optimizer. Copies
  // what it needs of the arguments before it returns. An update whose outcome is not finite changes
  // nothing. Returns false where `stop` was set before all micro-batches were begun: the update is
  // then abandoned, as if it had never started. Throws kBadData, here or when the update is
  // collected, where a batch holds an id that the model does not know.
  //
  // With several ranks, each gives its own part of the update, which may be empty. The gradient and
  // the outcome belong to the whole update, and all ranks have the same parameters afterwards.
  // `stop` of any rank abandons the update of all.
  virtual bool start_update(std::span<const PackedBatch> micro_batches, const UpdateInputs& inputs,
                            const std::atomic<bool>& stop) = 0;
  // Waits for the oldest update that was started and not yet collected, and returns its outcome.
  virtual UpdateOutcome collect_update() = 0;
  // How long start_update() and infer() have compiled programs so far, in seconds. 0 for an engine
  // that compiles none. An engine compiles each program once, so this is no part of its speed.
  virtual double compile_seconds() const { return 0; }

  // ---- Inference -----------------------------------------------------------------------------
  // The logits of a batch, without dropout, row-major: [B,C] for tasks on sequences, [T,C] for
  // tasks on tokens ([T,2] for answers: start, end; [T,H] for hidden states). Tasks that compare
  // texts give the embeddings [B,H] of a batch whose sequences_per_example is 1. Masked tokens,
  // which are always labelled, have [M,2] instead: the loss of each (0 where it has no label), and
  // the id that the model predicts for it. So no engine holds the logits of all masked tokens.
  // With next sentences, they have [B+M,2]: for each sequence its two logits, and then the same as
  // above for its masked tokens. Where a generator replaces masked tokens, there is [T,4]: the
  // discriminator's logit, and 1 if the token was replaced, else 0. The other two are the
  // generator's loss and its predicted id for masked tokens, and 0 and -1 for other tokens. Adds
  // the loss of a labelled batch to `loss`. No update may be in flight.
  virtual std::vector<float> infer(const PackedBatch& batch, LossSum& loss) = 0;

 protected:
  // Every implementation calls it before an update changes values or moments.
  void before_change() const {
    if (before_change_) before_change_();
  }

 private:
  std::function<void()> before_change_;
};

}  // namespace berth
