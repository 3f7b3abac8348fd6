#include "trainer/xla/xla_engine.h"

#include <array>
#include <exception>

#include "storage/base/error.h"
#include "storage/base/philox.h"
#include "trainer/model/batch_ids.h"
#include "trainer/xla/layout/laid_out_batch.h"
#include "trainer/xla/layout/shapes.h"
#include "trainer/xla/xla_memory.h"

namespace berth {
namespace {

ProgramOptions program_options(const EngineOptions& options, DType product_dtype, size_t replicas) {
  return {.config = options.config,
          .lora = options.lora,
          .loss = options.loss,
          .optimizer = options.optimizer,
          .product_dtype = product_dtype,
          .recomputes = options.limits.recomputes,
          .replicas = static_cast<int64_t>(replicas)};
}

}  // namespace

// One update, or one inference, until all of it is done.
struct XlaEngine::Work {
  Work() = default;
  ~Work() {
    try {
      finish();
    } catch (const Error&) {
      // Nobody is left who wants to know it.
    }
  }
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  // Waits for all of it, so that the host's memory is not lent any more. Throws its first failure.
  void finish() {
    std::exception_ptr failure;
    for (std::vector<PjrtEvent>* events : {&downloads, &done, &lent}) {
      for (PjrtEvent& event : *events) {
        try {
          event.await();
        } catch (const Error&) {
          if (!failure) failure = std::current_exception();
        }
      }
      events->clear();
    }
    if (failure) std::rethrow_exception(failure);
  }

  // On each replica's device.
  std::vector<PjrtBuffer> step_words, learning_rate;
  std::deque<LaidOutBatch> batches;  // host memory that is lent to uploads
  std::vector<PjrtEvent> lent, done, downloads;
  std::array<float, 3> outcome{};
};

// The arguments of all replicas.
class XlaEngine::Arguments {
 public:
  explicit Arguments(size_t replicas) : all_(replicas) {}

  void add(const XlaTensors& tensors) {
    for (size_t r = 0; r < all_.size(); ++r) tensors.append_to(all_[r], r);
  }
  void add(const std::vector<PjrtBuffer>& of_replicas) {
    for (size_t r = 0; r < all_.size(); ++r) all_[r].push_back(&of_replicas[r]);
  }
  void add(const XlaReplicas& replicas, const LaidOutBatch& batch,
           std::span<const std::string> inputs, std::vector<PjrtEvent>& lent) {
    for (size_t r = 0; r < all_.size(); ++r) {
      for (const std::string& name : inputs) {
        const HostTensor& tensor = batch.replicas[r].at(name);
        PjrtUpload upload =
            replicas.client.start_upload(std::as_bytes(std::span(tensor.words)), tensor.dtype,
                                         tensor.dimensions, replicas.devices[r]);
        lent.push_back(std::move(upload.host_done));
        all_[r].push_back(&uploaded_.emplace_back(std::move(upload.buffer)));
      }
    }
  }
  std::span<const PjrtArguments> all() const { return all_; }

 private:
  std::vector<PjrtArguments> all_;
  std::deque<PjrtBuffer> uploaded_;
};

XlaEngine::XlaEngine(const EngineInfo& info, const EngineOptions& options,
                     const XlaReplicas& replicas, const ExecutableCache& cache)
    : info_(info),
      options_(options),
      replicas_(replicas),
      shapes_(
          batch_shapes(options.limits, options.longest, static_cast<int64_t>(replicas.count()))),
      programs_(replicas.client, cache,
                program_options(options, info.product_dtype, replicas.count())),
      values_(replicas,
              parameter_table(options.config, options.lora, options.optimizer.first_depth),
              XlaTensors::Of::kAll) {
  if (!options_.trains) return;
  const std::vector<ParameterSpec> specs(values_.specs().begin(), values_.specs().end());
  first_moments_.emplace(replicas, specs, XlaTensors::Of::kTrained);
  second_moments_.emplace(replicas, specs, XlaTensors::Of::kTrained);
  if (options_.micro_batches == 1) return;
  gradients_.emplace(replicas, specs, XlaTensors::Of::kTrained);
  clear_gradients();
}

XlaEngine::~XlaEngine() = default;

ParameterTensors& XlaEngine::tensors(StateTensors which) {
  if (which == StateTensors::kValues) return values_;
  if (!first_moments_) throw Error(Code::kInternal, "an engine that only infers has no moments");
  return which == StateTensors::kFirstMoments ? *first_moments_ : *second_moments_;
}

void XlaEngine::tensors_written() {
  values_.upload_written();
  if (!first_moments_) return;
  first_moments_->upload_written();
  second_moments_->upload_written();
}

void XlaEngine::clear_moments() {
  first_moments_->set_to_zeros();
  second_moments_->set_to_zeros();
}

void XlaEngine::clear_gradients() {
  gradients_->set_to_zeros();
  const std::array<float, 2> zeros{};
  const int64_t dimensions[] = {2};
  sums_ = replicas_.upload(std::as_bytes(std::span(zeros)), DType::kF32, dimensions);
}

std::unique_ptr<XlaEngine::Work> XlaEngine::begin_work(const UpdateInputs& inputs) const {
  auto work = std::make_unique<Work>();
  const std::array<uint32_t, 4> words = {low_word(inputs.seed), high_word(inputs.seed),
                                         low_word(inputs.step), high_word(inputs.step)};
  const int64_t dimensions[] = {4};
  work->step_words = replicas_.upload(std::as_bytes(std::span(words)), DType::kU32, dimensions);
  work->learning_rate =
      replicas_.upload(std::as_bytes(std::span(&inputs.learning_rate, 1)), DType::kF32, {});
  return work;
}

PjrtResults XlaEngine::start(XlaPrograms::Kind kind, const PackedBatch* batch, Work& work) {
  using Kind = XlaPrograms::Kind;
  BatchShape shape;
  if (batch != nullptr) {
    work.batches.push_back(
        lay_out(*batch, options_.config, shapes_, static_cast<int64_t>(replicas_.count())));
    shape = work.batches.back().shape;
  }
  try {
    const XlaPrograms::Compiled& program = programs_.get(kind, shape);
    Arguments arguments(replicas_.count());
    arguments.add(values_);
    if (kind == Kind::kTraining || kind == Kind::kApplication) {
      arguments.add(*first_moments_);
      arguments.add(*second_moments_);
    }
    if (kind == Kind::kAccumulation || kind == Kind::kApplication) {
      arguments.add(*gradients_);
      arguments.add(sums_);
    }
    if (kind != Kind::kInference) arguments.add(work.step_words);
    if (kind == Kind::kTraining || kind == Kind::kApplication) arguments.add(work.learning_rate);
    if (batch != nullptr) {
      arguments.add(replicas_, work.batches.back(), program.batch_inputs, work.lent);
    }
    PjrtResults results = program.executable.execute(arguments.all());
    for (PjrtEvent& event : results.done) work.done.push_back(std::move(event));
    return results;
  } catch (const Error& error) {
    throw with_batch_that_fits(error, options_, replicas_);
  }
}

// Takes the outputs that replace values and moments.
void XlaEngine::take_state(PjrtResults& results, size_t replica, size_t& next) {
  values_.replace_trained(results.outputs[replica], next, replica);
  first_moments_->replace_trained(results.outputs[replica], next, replica);
  second_moments_->replace_trained(results.outputs[replica], next, replica);
}

void XlaEngine::start_training(const PackedBatch& batch, Work& work) {
  PjrtResults results = start(XlaPrograms::Kind::kTraining, &batch, work);
  size_t next = 0;
  for (size_t r = 0; r < replicas_.count(); ++r) take_state(results, r, next = 0);
  work.downloads.push_back(
      results.outputs[0][next].start_download(std::as_writable_bytes(std::span(work.outcome))));
}

void XlaEngine::start_accumulation(const PackedBatch& batch, Work& work) {
  PjrtResults results = start(XlaPrograms::Kind::kAccumulation, &batch, work);
  for (size_t r = 0; r < replicas_.count(); ++r) {
    size_t next = 0;
    gradients_->replace_trained(results.outputs[r], next, r);
    sums_[r] = std::move(results.outputs[r][next]);
  }
}

void XlaEngine::start_application(Work& work) {
  PjrtResults results = start(XlaPrograms::Kind::kApplication, nullptr, work);
  size_t next = 0;
  for (size_t r = 0; r < replicas_.count(); ++r) {
    take_state(results, r, next = 0);
    gradients_->replace_trained(results.outputs[r], next, r);
    sums_[r] = std::move(results.outputs[r][next++]);
  }
  work.downloads.push_back(
      results.outputs[0][next].start_download(std::as_writable_bytes(std::span(work.outcome))));
}

bool XlaEngine::start_update(std::span<const PackedBatch> micro_batches, const UpdateInputs& inputs,
                             const std::atomic<bool>& stop) {
  for (const PackedBatch& batch : micro_batches) check_ids(batch, options_.config);
  std::unique_ptr<Work> work = begin_work(inputs);
  for (const PackedBatch& batch : micro_batches) {
    if (stop) {
      if (gradients_) clear_gradients();
      return false;
    }
    if (gradients_) {
      start_accumulation(batch, *work);
    } else {
      start_training(batch, *work);
    }
  }
  if (gradients_) start_application(*work);
  started_.push_back(std::move(work));
  return true;
}

UpdateOutcome XlaEngine::collect_update() {
  const std::unique_ptr<Work> work = std::move(started_.front());
  started_.pop_front();
  work->finish();
  return {
      .loss_sum = work->outcome[0], .examples = work->outcome[1], .grad_norm = work->outcome[2]};
}

std::vector<float> XlaEngine::infer(const PackedBatch& batch, LossSum& loss) {
  check_ids(batch, options_.config);
  Work work;
  const PjrtResults results = start(XlaPrograms::Kind::kInference, &batch, work);
  const size_t bytes = results.outputs[0][0].size_bytes();
  const int64_t columns = results.outputs[0][0].dimensions().back();
  std::vector<float> logits(replicas_.count() * bytes / sizeof(float));
  std::vector<std::array<float, 2>> sums(replicas_.count());
  for (size_t r = 0; r < replicas_.count(); ++r) {
    const auto part = std::as_writable_bytes(std::span(logits)).subspan(r * bytes, bytes);
    work.downloads.push_back(results.outputs[r][0].start_download(part));
    work.downloads.push_back(
        results.outputs[r][1].start_download(std::as_writable_bytes(std::span(sums[r]))));
  }
  work.finish();
  for (const auto& [sum, weight] : sums) loss = {loss.loss + sum, loss.weight + weight};
  return packed_order(logits, work.batches.back().logit_rows, columns);
}

}  // namespace berth
