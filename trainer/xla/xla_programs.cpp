#include "trainer/xla/xla_programs.h"

#include <chrono>
#include <cmath>
#include <span>

#include "storage/base/counted.h"
#include "storage/base/log.h"
#include "storage/base/text.h"

namespace berth {
namespace {

Program program_of(XlaPrograms::Kind kind, const ProgramOptions& options, const BatchShape& shape) {
  switch (kind) {
    case XlaPrograms::Kind::kTraining:
      return training_program(options, shape);
    case XlaPrograms::Kind::kAccumulation:
      return accumulation_program(options, shape);
    case XlaPrograms::Kind::kApplication:
      return application_program(options);
    case XlaPrograms::Kind::kInference:
      break;
  }
  return inference_program(options, shape);
}

std::string describe(XlaPrograms::Kind kind, const BatchShape& shape) {
  constexpr const char* kNames[] = {"training", "gradients", "the update", "inference"};
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
  const Program program = program_of(kind, options_, shape);
  const PjrtClient& client = replicas_.client;
  PjrtCompileOptions options{.replicas = static_cast<int>(replicas_.total()),
                             .flags = flags_for(client.platform())};
  if (kind == Kind::kInference) {  // each host infers from batches of its own
    options.replicas = static_cast<int>(replicas_.count());
    options.device_ids = replicas_.local_assignment();
  }
  Compiled compiled{.executable = cache_.compile(client, program.text(), options),
                    .batch_inputs = batch_inputs_of(program),
                    .tokens = shape.tokens()};
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  compile_seconds_ += seconds.count();
  log_info(cat("compiled ", what, " in ", std::llround(seconds.count() * 10) / 10.0, " s"));
  return compiled;
}

const XlaPrograms::Compiled& XlaPrograms::get(Kind kind, const BatchShape& shape) {
  const std::pair key(kind, shape.rows);
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

}  // namespace berth
