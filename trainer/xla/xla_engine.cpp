#include "trainer/xla/xla_engine.h"

#include <array>
#include <exception>

#include "storage/base/error.h"
#include "storage/base/philox.h"
#include "storage/base/profiler.h"
#include "trainer/distributed/communicator.h"
#include "trainer/model/batch_ids.h"
#include "trainer/xla/layout/laid_out_batch.h"
#include "trainer/xla/layout/shapes.h"
#include "trainer/xla/xla_memory.h"

namespace berth {
namespace {

ProgramOptions program_options(const EngineOptions& options, DType product_dtype,
                               DropoutGenerator generator, size_t replicas) {
  return {.config = options.config,
          .lora = options.lora,
          .loss = options.loss,
          .optimizer = options.optimizer,
          .product_dtype = product_dtype,
          .generator = generator,
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

  std::vector<PjrtBuffer> step_words, learning_rate;  // [replica]
  std::deque<LaidOutBatch> batches;                   // host memory that is lent to uploads
  std::deque<PjrtBuffer> uploaded;
  std::vector<PjrtEvent> lent, done, downloads;
  std::array<float, 3> outcome{};
};

XlaEngine::XlaEngine(const EngineInfo& info, const EngineOptions& options,
                     const XlaReplicas& replicas, const ExecutableCache& cache,
                     DropoutGenerator generator, Profiler* const& profiler)
    : info_(info),
      options_(options),
      replicas_(replicas),
      shapes_(
          batch_shapes(options.limits, options.longest, static_cast<int64_t>(replicas.total()))),
      local_shapes_(
          batch_shapes(options.limits, options.longest, static_cast<int64_t>(replicas.count()))),
      profiler_(profiler),
      programs_(
          replicas, cache,
          program_options(options, info.precision == Precision::kBf16 ? DType::kBF16 : DType::kF32,
                          generator, replicas.total())),
      values_(replicas,
              parameter_table(options.config, options.lora, options.optimizer.first_depth),
              XlaTensors::Of::kAll) {
  if (!options_.trains) return;
  std::vector<ParameterSpec> specs(values_.specs().begin(), values_.specs().end());
  first_moments_.emplace(replicas, specs, XlaTensors::Of::kTrained);
  second_moments_.emplace(replicas, specs, XlaTensors::Of::kTrained);
  if (options_.micro_batches == 1) return;
  specs.push_back({.name = "sums", .shape = {2}});
  gradients_.emplace(replicas, std::move(specs), XlaTensors::Of::kTrained);
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

const PjrtBuffer* XlaEngine::upload(const HostTensor& tensor, size_t replica, Work& work) const {
  PjrtUpload upload =
      replicas_.client.start_upload(std::as_bytes(std::span(tensor.words)), tensor.dtype,
                                    tensor.dimensions, replicas_.devices[replica]);
  work.lent.push_back(std::move(upload.host_done));
  return &work.uploaded.emplace_back(std::move(upload.buffer));
}

// network/programs.h defines the order of arguments and outputs.
std::vector<std::vector<PjrtBuffer>> XlaEngine::start(XlaPrograms::Kind kind,
                                                      const PackedBatch* batch, Work& work) {
  using Kind = XlaPrograms::Kind;
  const bool updates = kind == Kind::kTraining || kind == Kind::kApplication;
  std::vector<XlaTensors*> state = {&values_};
  if (updates) state.insert(state.end(), {&*first_moments_, &*second_moments_});
  if (kind == Kind::kAccumulation || kind == Kind::kApplication) state.push_back(&*gradients_);
  const bool is_local = kind == Kind::kInference;
  if (batch != nullptr) {
    const ProfileScope scope(profiler_, "laying out the batch");
    work.batches.push_back(
        lay_out(*batch, options_.config, is_local ? local_shapes_ : shapes_,
                static_cast<int64_t>(is_local ? replicas_.count() : replicas_.total())));
  }
  const XlaPrograms::Compiled& program = [&]() -> const XlaPrograms::Compiled& {
    const ProfileScope scope(profiler_, "looking up the program, or compiling it");
    return programs_.get(kind, batch == nullptr ? BatchShape() : work.batches.back().shape);
  }();
  if (updates) before_change();  // the program takes the buffers of the state
  std::vector<PjrtArguments> arguments(replicas_.count());
  for (size_t r = 0; r < arguments.size(); ++r) {
    for (const XlaTensors* tensors : state) tensors->append_to(arguments[r], r);
    if (kind != Kind::kInference) arguments[r].push_back(&work.step_words[r]);
    if (updates) arguments[r].push_back(&work.learning_rate[r]);
    const ProfileScope scope(profiler_, "starting uploads");
    for (const std::string& input : program.batch_inputs) {
      const size_t number = is_local ? r : replicas_.number(r);
      arguments[r].push_back(upload(work.batches.back().replicas[number].at(input), r, work));
    }
  }
  PjrtResults results = [&] {
    const ProfileScope scope(profiler_, "starting the program");
    return program.executable.execute(arguments);
  }();
  for (PjrtEvent& event : results.done) work.done.push_back(std::move(event));
  if (!updates) state.erase(state.begin());  // values are only read
  for (size_t r = 0; r < arguments.size(); ++r) {
    size_t next = 0;
    for (XlaTensors* tensors : state) tensors->replace_trained(results.outputs[r], next, r);
    results.outputs[r].erase(results.outputs[r].begin(),
                             results.outputs[r].begin() + static_cast<std::ptrdiff_t>(next));
  }
  return std::move(results.outputs);
}

Error XlaEngine::explained(const Error& error) const {
  return with_batch_that_fits(error, options_, replicas_, programs_.largest());
}

bool XlaEngine::start_update(std::span<const PackedBatch> micro_batches, const UpdateInputs& inputs,
                             const std::atomic<bool>& stop) try {
  for (const PackedBatch& batch : micro_batches) check_ids(batch, options_.config);
  // Several hosts must all start the same programs, so they agree before the first one.
  const bool agrees = replicas_.is_on_several_hosts() && options_.ranks.communicator != nullptr;
  if (agrees && any_rank(*options_.ranks.communicator, stop)) return false;
  std::unique_ptr<Work> work = begin_work(inputs);
  std::vector<std::vector<PjrtBuffer>> outputs;
  for (const PackedBatch& batch : micro_batches) {
    if (stop && !agrees) {
      if (gradients_) gradients_->set_to_zeros();
      return false;
    }
    outputs = start(gradients_ ? XlaPrograms::Kind::kAccumulation : XlaPrograms::Kind::kTraining,
                    &batch, *work);
  }
  if (gradients_) outputs = start(XlaPrograms::Kind::kApplication, nullptr, *work);
  work->downloads.push_back(
      outputs[0].front().start_download(std::as_writable_bytes(std::span(work->outcome))));
  started_.push_back(std::move(work));
  return true;
} catch (const Error& error) {
  throw explained(error);
}

UpdateOutcome XlaEngine::collect_update() try {
  const std::unique_ptr<Work> work = std::move(started_.front());
  started_.pop_front();
  const ProfileScope scope(profiler_, "waiting for the device");
  work->finish();
  return {
      .loss_sum = work->outcome[0], .examples = work->outcome[1], .grad_norm = work->outcome[2]};
} catch (const Error& error) {
  throw explained(error);
}

std::vector<float> XlaEngine::infer(const PackedBatch& batch, LossSum& loss) try {
  check_ids(batch, options_.config);
  std::vector<float> logits;
  std::vector<std::array<float, 2>> sums(replicas_.count());
  Work work;  // after what is downloaded to, because it waits for that
  const auto outputs = start(XlaPrograms::Kind::kInference, &batch, work);
  const size_t bytes = outputs[0][0].size_bytes();
  const int64_t columns = outputs[0][0].dimensions().back();
  logits.resize(replicas_.count() * bytes / sizeof(float));
  for (size_t r = 0; r < replicas_.count(); ++r) {
    const auto part = std::as_writable_bytes(std::span(logits)).subspan(r * bytes, bytes);
    work.downloads.push_back(outputs[r][0].start_download(part));
    work.downloads.push_back(
        outputs[r][1].start_download(std::as_writable_bytes(std::span(sums[r]))));
  }
  work.finish();
  for (const auto& [sum, weight] : sums) loss = {loss.loss + sum, loss.weight + weight};
  return packed_order(logits, work.batches.back().logit_rows, columns);
} catch (const Error& error) {
  throw explained(error);
}

}  // namespace berth
