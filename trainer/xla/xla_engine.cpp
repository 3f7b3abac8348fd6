#include "trainer/xla/xla_engine.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <chrono>
#include <cmath>
#include <cstring>
#include <exception>
#include <span>

#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/philox.h"
#include "storage/base/profiler.h"
#include "storage/base/text.h"
#include "trainer/distributed/communicator.h"
#include "trainer/model/batch_parts.h"
#include "trainer/model/generator.h"
#include "trainer/model/replaced_tokens.h"
#include "trainer/model/table_rows.h"
#include "trainer/model/two_losses.h"
#include "trainer/xla/layout/laid_out_batch.h"

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

namespace {

Program program_of(XlaPrograms::Kind kind, const ProgramOptions& options, const BatchShape& shape) {
  switch (kind) {
    case XlaPrograms::Kind::kTraining:
      return training_program(options, shape);
    case XlaPrograms::Kind::kAccumulation:
      return accumulation_program(options, shape);
    case XlaPrograms::Kind::kApplication:
      return application_program(options);
    case XlaPrograms::Kind::kPart:
      return part_program(options, shape);
    case XlaPrograms::Kind::kComparison:
      return comparison_program(options, shape);
    case XlaPrograms::Kind::kInference:
      break;
  }
  return inference_program(options, shape);
}

std::string describe(XlaPrograms::Kind kind, const BatchShape& shape) {
  constexpr const char* kNames[] = {"training", "gradients",  "the update",
                                    "outputs",  "comparison", "inference"};
  std::string name = kNames[static_cast<size_t>(kind)];
  if (shape.rows == 0) return name;
  return cat(name, " of ", counted(shape.rows, "row"), " of ", shape.row_length, " tokens");
}

std::vector<std::string> batch_inputs_of(const Program& program) {
  std::vector<std::string> names;
  for (const Program::Tensor& input : std::span(program.inputs).last(program.batch_inputs)) {
    names.push_back(input.name);
  }
  return names;
}

std::vector<std::pair<std::string, bool>> flags_for(const std::string& platform) {
  std::vector<std::pair<std::string, bool>> flags = kProgramFlags;
  // Sums whose order changes from run to run would change the results of equal jobs.
  if (platform == "cuda") flags.emplace_back("xla_gpu_deterministic_ops", true);
  return flags;
}

}  // namespace

XlaPrograms::Compiled XlaPrograms::compile(Kind kind, const BatchShape& shape) {
  const std::string what = describe(kind, shape);
  log_info("compiling " + what);
  const auto start = std::chrono::steady_clock::now();
  const PjrtClient& client = replicas_.client;
  ProgramOptions of_program = options_;
  PjrtCompileOptions options{.flags = flags_for(client.platform())};
  if (kind == Kind::kInference) {  // each host infers from batches of its own
    of_program.replicas = static_cast<int64_t>(replicas_.count());
    options.device_ids = replicas_.local_assignment();
  }
  options.replicas = static_cast<int>(of_program.replicas);
  const Program program = program_of(kind, of_program, shape);
  Compiled compiled{.executable = cache_.compile(client, program.text(), options),
                    .batch_inputs = batch_inputs_of(program),
                    .tokens = shape.tokens()};
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  compile_seconds_ += seconds.count();
  log_info(cat("compiled ", what, " in ", std::llround(seconds.count() * 10) / 10.0, " s"));
  return compiled;
}

const XlaPrograms::Compiled& XlaPrograms::get(Kind kind, const BatchShape& shape) {
  const std::pair key(kind, shape);
  auto found = compiled_.find(key);
  if (found == compiled_.end()) found = compiled_.emplace(key, compile(kind, shape)).first;
  return found->second;
}

std::optional<XlaPrograms::BatchMemory> XlaPrograms::largest() const {
  std::optional<BatchMemory> largest;
  for (const auto& [key, compiled] : compiled_) {
    const auto memory = compiled.executable.memory();
    if (!memory || compiled.tokens == 0) continue;
    const int64_t size_bytes = memory->temporary + memory->outputs - memory->aliased;
    if (!largest || size_bytes > largest->size_bytes) {
      largest = {.size_bytes = size_bytes, .tokens = compiled.tokens};
    }
  }
  return largest;
}

namespace {

// Whether batches are computed in parts.
bool caches(const BatchLimits& limits) { return limits.part_sequences > 0; }
BatchLimits limits_of_programs(const BatchLimits& limits) {
  return caches(limits) ? limits_of_part(limits) : limits;
}

// What a loss keeps that compares the texts of all examples, in fp32 numbers.
int64_t compared_numbers(const ModelConfig& config, int64_t sequences) {
  const SimilarityObjective& objective = config.similarity;
  const int64_t fewest = config.fewest_texts_per_row;
  const int64_t examples = sequences / (fewest > 0 ? fewest : config.texts_per_row);
  const int64_t kinds = config.texts_per_row - 1 + (objective.contrasts_anchors ? 1 : 0) +
                        (objective.contrasts_positives ? 1 : 0);
  return 3 * examples * examples * kinds;
}

// What a batch of this shape keeps, in fp32 numbers.
int64_t kept_numbers(const ModelConfig& config, const BatchShape& shape, bool trains,
                     bool recomputes) {
  const int64_t tokens = shape.tokens(), hidden = config.hidden_size;
  // The activations of one layer: inputs of its products and normalizations, and three forms of the
  // scores.
  const int64_t layer =
      tokens * (10 * hidden + (config.is_gated ? 5 : 3) * config.intermediate_size) +
      3 * tokens * config.num_attention_heads * shape.row_length;
  const HeadRows rows = traits(config.task).rows;
  const bool is_masked = rows == HeadRows::kMasked || rows == HeadRows::kMaskedAndFirst;
  const bool ranks = traits(config.task).loss == LossKind::kInBatchNegatives;
  const bool pools = rows == HeadRows::kPooled || rows == HeadRows::kGroups;
  const bool takes_maxima = pools && config.pooling == Pooling::kMax;
  // The logits of masked or of all tokens, or the cosines of all texts that are compared.
  int64_t head = is_masked                   ? 3 * shape.masked * config.vocab_size
                 : rows == HeadRows::kTokens ? 3 * tokens * config.num_outputs()
                 : ranks                     ? compared_numbers(config, shape.sequences)
                                             : 0;
  if (takes_maxima) head += 3 * shape.sequences * shape.row_length * hidden;
  if (!trains) return layer + head;
  return recomputes ? config.num_hidden_layers * tokens * hidden + layer + head
                    : config.num_hidden_layers * layer + head;
}

// The host's memory that the plugin's compiler takes while it compiles the programs of an engine,
// and does not free. Measured with the plugin for CPUs 0.115, fp32 and bf16: 260 to 320 MiB for
// training 2 layers, 360 to 410 MiB for 6 layers and 500 MiB for 12. Inference takes less than 50
// MiB.
size_t compiler_bytes(const EngineOptions& options) {
  constexpr size_t kMiB = size_t{1} << 20;
  const auto layers = static_cast<size_t>(options.config.num_hidden_layers);
  return (options.trains ? 300 + 35 * layers : 50 + 5 * layers) * kMiB;
}

}  // namespace

EngineMemory xla_memory(const EngineOptions& options, size_t replicas, bool on_host) {
  const std::vector<ParameterSpec> specs =
      parameter_table(options.config, options.lora, options.optimizer.first_depth);
  const auto all = static_cast<size_t>(total_elements(specs)) * sizeof(float);
  const auto trained =
      options.trains ? static_cast<size_t>(trained_elements(specs)) * sizeof(float) : 0;
  // Not the largest shape, which only very short texts need.
  const auto count = static_cast<int64_t>(replicas);
  const BatchLimits limits = limits_of_programs(options.limits);
  const BatchShape usual{.rows = full_rows(limits, options.longest, count) * 9 / 8 + 1,
                         .row_length = row_length_for(limits, options.longest, count),
                         .sequences = limits.sequences,
                         .masked = limits.most_masked() / count};
  int64_t numbers = kept_numbers(options.config, usual, options.trains, options.limits.recomputes);
  if (options.config.generator) {  // both networks compute one after the other
    numbers = std::max(numbers, kept_numbers(generator_config(options.config), usual,
                                             options.trains, options.limits.recomputes));
  }
  const auto kept = static_cast<size_t>(numbers);
  if (caches(options.limits)) {  // the comparison of all embeddings, and their gradients
    const int64_t sequences = options.limits.sequences;
    numbers = std::max(numbers, 3 * sequences * options.config.embedding_dimension() +
                                    compared_numbers(options.config, sequences));
  }
  const bool accumulates =
      options.micro_batches > 1 || options.config.generator.has_value() || caches(options.limits);
  const size_t copies = on_host ? replicas : 1;
  return {.parameters = copies * all,
          .gradients = accumulates ? copies * trained : 0,
          .moments = copies * 2 * trained,
          .activations = copies * (kept * sizeof(float) + trained),
          .loading = all + 2 * trained,
          .plugin = compiler_bytes(options),
          .has_own_memory = !on_host};
}

Error with_batch_that_fits(const Error& error, const EngineOptions& options,
                           const XlaReplicas& replicas,
                           const std::optional<XlaPrograms::BatchMemory>& compiled) {
  if (error.code() != Code::kMemory) return error;
  const std::optional<DeviceMemory> device = replicas.memory();
  if (!device || !device->limit) return error;
  // What a batch takes, by the plugin's own count if a program was compiled, else by the estimate.
  const EngineMemory memory = xla_memory(options, replicas.total(), /*on_host=*/false);
  const size_t state = memory.parameters + memory.gradients + memory.moments;
  auto for_batch = static_cast<double>(memory.activations);
  auto tokens = static_cast<double>(options.limits.tokens);
  if (compiled) {
    for_batch = static_cast<double>(compiled->size_bytes);
    tokens = static_cast<double>(compiled->tokens) * static_cast<double>(replicas.total());
  }
  // The gradients of a single micro-batch do not grow with it.
  const double fixed =
      memory.gradients > 0 ? 0 : std::min(static_cast<double>(memory.moments) / 2, for_batch / 2);
  // The part that grows with the tokens must fit beside the state and the fixed part.
  const double room = static_cast<double>(*device->limit) - static_cast<double>(state) - fixed;
  auto fitting = static_cast<int64_t>(tokens * room / std::max(for_batch - fixed, 1.0));
  // Something else is in the device's memory if that much did not fit.
  fitting = std::min(fitting, options.limits.tokens / 2);
  const int64_t longest = options.longest;
  if (fitting < longest) {
    return Error(
        error.code(), error.problem(), error.where(),
        cat("beside the model and its optimizer, this device has no memory for a sequence of ",
            longest, " tokens; use a smaller model or shorter sequences"));
  }
  return Error(
      error.code(), error.problem(), error.where(),
      cat("a micro-batch of about ", fitting, " tokens would fit, such as ",
          counted(fitting / longest, "example"), " of ", longest, "; make the batch smaller",
          options.limits.recomputes ? "" : " or use gradient checkpointing"));
}

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

// The network that learns beside a discriminator. They share one table of parameters.
struct XlaEngine::Generator {
  const ModelConfig config;
  XlaPrograms programs;
};

XlaEngine::XlaEngine(const EngineInfo& info, const EngineOptions& options,
                     const XlaReplicas& replicas, const ExecutableCache& cache,
                     DropoutGenerator generator, Profiler* const& profiler)
    : info_(info),
      options_(options),
      limits_(limits_of_programs(options.limits)),
      replicas_(replicas),
      shapes_(batch_shapes(limits_, options.longest, static_cast<int64_t>(replicas.total()))),
      local_shapes_(batch_shapes(limits_, options.longest, static_cast<int64_t>(replicas.count()))),
      profiler_(profiler),
      programs_(
          replicas, cache,
          program_options(options, info.precision == Precision::kBf16 ? DType::kBF16 : DType::kF32,
                          generator, replicas.total())),
      values_(replicas,
              parameter_table(options.config, options.lora, options.optimizer.first_depth),
              XlaTensors::Of::kAll) {
  if (options_.config.generator) {
    ProgramOptions of_generator = programs_.options();
    of_generator.is_generator = true;
    generator_ = std::make_unique<Generator>(Generator{
        generator_config(options_.config), XlaPrograms(replicas, cache, std::move(of_generator))});
  }
  if (!options_.trains) return;
  std::vector<ParameterSpec> specs(values_.specs().begin(), values_.specs().end());
  first_moments_.emplace(replicas, specs, XlaTensors::Of::kTrained);
  second_moments_.emplace(replicas, specs, XlaTensors::Of::kTrained);
  if (options_.micro_batches == 1 && !generator_ && !caches(options_.limits)) return;
  specs.push_back({.name = "sums", .shape = {2}});
  gradients_.emplace(replicas, std::move(specs), XlaTensors::Of::kTrained);
}

XlaEngine::~XlaEngine() = default;

double XlaEngine::compile_seconds() const {
  return programs_.compile_seconds() + (generator_ ? generator_->programs.compile_seconds() : 0);
}

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
XlaEngine::Outputs XlaEngine::start(XlaPrograms::Kind kind, const PackedBatch* batch, Work& work,
                                    const UpdateNumbers& numbers, Generator* generator) {
  const bool is_local = kind == XlaPrograms::Kind::kInference;
  if (batch != nullptr) {
    const ProfileScope scope(profiler_, "laying out the batch");
    work.batches.push_back(
        lay_out(*batch, generator != nullptr ? generator->config : options_.config,
                is_local ? local_shapes_ : shapes_,
                static_cast<int64_t>(is_local ? replicas_.count() : replicas_.total()), numbers));
  }
  return start_laid_out(kind, batch != nullptr, work, generator);
}

XlaEngine::Outputs XlaEngine::start_laid_out(XlaPrograms::Kind kind, bool has_batch, Work& work,
                                             Generator* generator) {
  using Kind = XlaPrograms::Kind;
  const bool updates = kind == Kind::kTraining || kind == Kind::kApplication;
  const bool is_local = kind == Kind::kInference;
  const bool has_values = kind != Kind::kComparison;
  const bool has_step = has_values && kind != Kind::kInference;
  std::vector<XlaTensors*> state;
  if (has_values) state.push_back(&values_);
  if (updates) state.insert(state.end(), {&*first_moments_, &*second_moments_});
  if (kind == Kind::kAccumulation || kind == Kind::kApplication) state.push_back(&*gradients_);
  // 1. The program for the batch's shape.
  const XlaPrograms::Compiled& program = [&]() -> const XlaPrograms::Compiled& {
    const ProfileScope scope(profiler_, "looking up the program, or compiling it");
    XlaPrograms& programs = generator != nullptr ? generator->programs : programs_;
    return programs.get(kind, has_batch ? work.batches.back().shape : BatchShape());
  }();
  // 2. The arguments of each replica: the state, scalars, and its part of the batch.
  if (updates) before_change();  // the program takes the buffers of the state
  std::vector<PjrtArguments> arguments(replicas_.count());
  for (size_t r = 0; r < arguments.size(); ++r) {
    for (const XlaTensors* tensors : state) tensors->append_to(arguments[r], r);
    if (has_step) arguments[r].push_back(&work.step_words[r]);
    if (updates) arguments[r].push_back(&work.learning_rate[r]);
    const ProfileScope scope(profiler_, "starting uploads");
    for (const std::string& input : program.batch_inputs) {
      const size_t number = is_local ? r : replicas_.number(r);
      arguments[r].push_back(upload(work.batches.back().replicas[number].at(input), r, work));
    }
  }
  // 3. The program starts. Its outputs replace the state that they were computed from.
  PjrtResults results = [&] {
    const ProfileScope scope(profiler_, "starting the program");
    return program.executable.execute(arguments);
  }();
  for (PjrtEvent& event : results.done) work.done.push_back(std::move(event));
  if (!updates && has_values) state.erase(state.begin());  // values are only read
  for (size_t r = 0; r < arguments.size(); ++r) {
    size_t next = 0;
    for (XlaTensors* tensors : state) tensors->replace_trained(results.outputs[r], next, r);
    results.outputs[r].erase(results.outputs[r].begin(),
                             results.outputs[r].begin() + static_cast<std::ptrdiff_t>(next));
  }
  return std::move(results.outputs);
}

Error XlaEngine::explained(const Error& error) const {
  std::optional<XlaPrograms::BatchMemory> largest = programs_.largest();
  if (generator_) {
    const auto of_generator = generator_->programs.largest();
    if (!largest || (of_generator && of_generator->size_bytes > largest->size_bytes)) {
      largest = of_generator;
    }
  }
  return with_batch_that_fits(error, options_, replicas_, largest);
}

bool XlaEngine::start_update(std::span<const PackedBatch> micro_batches, const UpdateInputs& inputs,
                             const std::atomic<bool>& stop) try {
  for (const PackedBatch& batch : micro_batches) check_ids(batch, options_.config);
  // Several hosts must all start the same programs, so they agree before the first one.
  const bool agrees = replicas_.is_on_several_hosts() && options_.ranks.communicator != nullptr;
  if (agrees && any_rank(*options_.ranks.communicator, stop)) return false;
  const std::vector<double> weights = loss_weights(options_.config, micro_batches);
  UpdateNumbers numbers;
  double scale = 1;  // of a second loss
  if (!weights.empty()) {
    scale = second_factor(weights, generator_ ? options_.loss.discriminator_weight : 1);
    numbers.next_weight = static_cast<float>(scale);
  }
  if (generator_) numbers.sampling_key = sampling_key(generator_inputs(inputs));
  // Programs are only started here. collect_update() waits for the outcome.
  std::unique_ptr<Work> work = begin_work(inputs);
  std::vector<std::vector<PjrtBuffer>> outputs;
  for (const PackedBatch& batch : micro_batches) {
    if (stop && !agrees) {
      if (gradients_) gradients_->set_to_zeros();
      return false;
    }
    if (caches(options_.limits)) {
      start_parts(batch, *work);
      continue;
    }
    outputs = start(gradients_ ? XlaPrograms::Kind::kAccumulation : XlaPrograms::Kind::kTraining,
                    &batch, *work, numbers, generator_.get());
    if (generator_) start_detection(outputs, batch, scale, *work);
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

std::vector<float> XlaEngine::fetch(const Outputs& outputs, size_t which, Work& work) const {
  // Replicas have parts of the rows: one after the other, and then in the batch's order.
  const PjrtBuffer& first = outputs[0][which];
  const size_t bytes = first.size_bytes();
  const std::vector<int64_t> dimensions = first.dimensions();
  const int64_t columns = dimensions.size() > 1 ? dimensions.back() : 1;
  std::vector<float> stacked(outputs.size() * bytes / sizeof(float));
  for (size_t r = 0; r < outputs.size(); ++r) {
    const auto part = std::as_writable_bytes(std::span(stacked)).subspan(r * bytes, bytes);
    work.downloads.push_back(outputs[r][which].start_download(part));
  }
  work.finish();
  return packed_order(stacked, work.batches.back().logit_rows, columns);
}

// The generator drew ids for masked tokens, and the discriminator reads them in their place.
void XlaEngine::start_detection(const Outputs& of_generator, const PackedBatch& batch, double scale,
                                Work& work) {
  const std::vector<float> drawn = fetch(of_generator, 0, work);
  const std::vector<int32_t> ids(drawn.begin(), drawn.end());
  const PackedBatch replaced = replaced_batch(batch, ids, scale);
  start(XlaPrograms::Kind::kAccumulation, &replaced, work);
}

// The embeddings of each part, the loss of all of them with its gradients, and then each part
// again.
void XlaEngine::start_parts(const PackedBatch& batch, Work& work) {
  const std::vector<PackedBatch> parts = parts_of(batch, limits_);
  std::vector<float> embeddings;
  for (const PackedBatch& part : parts) {
    const Outputs outputs = start(XlaPrograms::Kind::kPart, &part, work);
    const std::vector<float> own = fetch(outputs, 0, work);
    embeddings.insert(embeddings.end(), own.begin(), own.end());
  }
  const Compared compared = compare(batch, embeddings, work);
  UpdateNumbers numbers{.loss_sums = compared.sums};
  std::span<const float> gradients = compared.gradients;
  for (const PackedBatch& part : parts) {
    const auto size =
        static_cast<size_t>(part.num_sequences() * options_.config.embedding_dimension());
    numbers.gradients = gradients.first(size);
    gradients = gradients.subspan(size);
    start(XlaPrograms::Kind::kAccumulation, &part, work, numbers);
    numbers.loss_sums = {};
  }
}

XlaEngine::Compared XlaEngine::compare(const PackedBatch& batch, std::span<const float> embeddings,
                                       Work& work) {
  work.batches.push_back(
      lay_out_outputs(batch, options_.config, embeddings, static_cast<int64_t>(replicas_.total())));
  const Outputs outputs =
      start_laid_out(XlaPrograms::Kind::kComparison, /*has_batch=*/true, work, nullptr);
  std::vector<std::array<float, 2>> sums(outputs.size());
  for (size_t r = 0; r < outputs.size(); ++r) {
    work.downloads.push_back(
        outputs[r][1].start_download(std::as_writable_bytes(std::span(sums[r]))));
  }
  Compared compared;
  compared.gradients.resize(outputs[0][0].size_bytes() / sizeof(float));
  work.downloads.push_back(
      outputs[0][0].start_download(std::as_writable_bytes(std::span(compared.gradients))));
  compared.outputs = fetch(outputs, 2, work);
  for (const std::array<float, 2>& share : sums) {
    compared.sums = {compared.sums[0] + share[0], compared.sums[1] + share[1]};
  }
  return compared;
}

XlaEngine::Inferred XlaEngine::infer_parts(const PackedBatch& batch) {
  Inferred inferred;
  for (const PackedBatch& part : parts_of(batch, limits_)) {
    const Inferred own = infer_by(nullptr, part, {});
    inferred.logits.insert(inferred.logits.end(), own.logits.begin(), own.logits.end());
  }
  if (batch.sequences_per_example == 1) return inferred;
  Work work;
  Compared compared = compare(batch, inferred.logits, work);
  inferred.logits = std::move(compared.outputs);
  inferred.loss = {.loss = double{compared.sums[0]}, .weight = double{compared.sums[1]}};
  return inferred;
}

XlaEngine::Inferred XlaEngine::infer_by(Generator* generator, const PackedBatch& batch,
                                        const UpdateNumbers& numbers) {
  Inferred inferred;
  std::vector<std::array<float, 4>> sums(replicas_.count());  // two numbers if there is one loss
  Work work;  // after what is downloaded to, because it waits for that
  const Outputs outputs = start(XlaPrograms::Kind::kInference, &batch, work, numbers, generator);
  for (size_t r = 0; r < replicas_.count(); ++r) {
    const auto of_replica = std::as_writable_bytes(std::span(sums[r]));
    work.downloads.push_back(
        outputs[r][1].start_download(of_replica.first(outputs[r][1].size_bytes())));
  }
  inferred.logits = fetch(outputs, 0, work);
  if (generator != nullptr) inferred.drawn = fetch(outputs, 2, work);
  for (const std::array<float, 4>& of_replica : sums) {
    inferred.loss.loss += double{of_replica[0]};
    inferred.loss.weight += double{of_replica[1]};
    inferred.loss.second_loss += double{of_replica[2]};
    inferred.loss.second_weight += double{of_replica[3]};
  }
  return inferred;
}

namespace {

// Of texts that are compared, only labelled examples have columns beside the task's own.
std::vector<float> shown_columns(const PackedBatch& batch, const ModelConfig& config,
                                 std::vector<float> outputs) {
  const bool compares = traits(config.task).rows == HeadRows::kGroups;
  const bool is_labelled = !std::holds_alternative<std::monostate>(batch.labels);
  const int64_t rows = batch.num_examples();
  if (!compares || batch.sequences_per_example == 1 || is_labelled || rows == 0) return outputs;
  const int64_t columns = std::ssize(outputs) / rows;
  std::vector<float> own;
  for (int64_t row = 0; row < rows; ++row) {
    const auto first = outputs.begin() + row * columns;
    own.insert(own.end(), first, first + config.num_outputs());
  }
  return own;
}

}  // namespace

std::vector<float> XlaEngine::infer(const PackedBatch& batch, LossSum& loss) try {
  check_ids(batch, options_.config);
  const auto add = [&loss](double sum, double weight, double second_sum, double second_weight) {
    loss = {.loss = loss.loss + sum,
            .weight = loss.weight + weight,
            .second_loss = loss.second_loss + second_sum,
            .second_weight = loss.second_weight + second_weight};
  };
  if (!generator_) {
    Inferred inferred = caches(options_.limits) ? infer_parts(batch) : infer_by(nullptr, batch, {});
    const LossSum& own = inferred.loss;
    add(own.loss, own.weight, own.second_loss, own.second_weight);
    return shown_columns(batch, options_.config, std::move(inferred.logits));
  }
  const Inferred predicted =
      infer_by(generator_.get(), batch, {.sampling_key = evaluation_sampling_key()});
  const std::vector<int32_t> ids(predicted.drawn.begin(), predicted.drawn.end());
  const PackedBatch replaced = replaced_batch(batch, ids, /*scale=*/1);
  const Inferred detected = infer_by(nullptr, replaced, {});
  add(predicted.loss.loss, predicted.loss.weight,
      options_.loss.discriminator_weight * detected.loss.loss, detected.loss.weight);
  return detection_outputs(std::get<PackedBatch::MaskedTokens>(batch.labels), replaced,
                           detected.logits, predicted.logits);
} catch (const Error& error) {
  throw explained(error);
}

}  // namespace berth
