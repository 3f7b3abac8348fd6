#include "entrypoint/job/generator.h"

#include "entrypoint/flags/device_rules.h"
#include "storage/base/counted.h"
#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "trainer/loop/job_directory.h"
#include "trainer/model/architecture.h"
#include "trainer/model/generator_config.h"
#include "trainer/model/generator_tensors.h"
#include "trainer/weights/pretrained.h"

namespace berth {
namespace {

bool has_generator(const ModelConfig& config) {
  return traits(config.task).rows == HeadRows::kReplaced;
}

// Throws kUsage where the flags ask for what pre-training with a generator cannot do.
void require_possible(const Job& job, const Settings& settings, const ModelConfig& config) {
  const auto refuse = [](const std::string& problem, const char* flag, const char* hint) {
    throw Error(Code::kUsage, problem, flag, hint);
  };
  if (!architecture(config.type).has_discriminator) {
    refuse(cat("replaced-token detection trains an electra, and the model is of model_type ",
               model_type_name(config.type)),
           "--task electra",
           "give a --model or --model-config of model_type electra, or use "
           "--task mlm");
  }
  require_device(job.command_line, job.device.kind, config.task);
  const OptimizationOptions& optimization = settings.training.optimization;
  if (optimization.lora) {
    refuse("replaced-token detection trains all parameters, not adapters", "--lora-rank",
           "leave it out");
  }
  if (optimization.freeze_embeddings || optimization.freeze_encoder_layers > 0) {
    refuse("replaced-token detection trains all parameters",
           optimization.freeze_embeddings ? "--freeze-embeddings" : "--freeze-encoder-layers",
           "leave it out");
  }
}

std::unique_ptr<ModelFolder> open_generator(const Job& job, const std::string& path,
                                            ModelConfig& config) {
  auto folder = std::make_unique<ModelFolder>(job.storage, ModelOptions{.model = path});
  try {
    config.generator = saved_generator(config, parse_config(folder->config_json()));
  } catch (const Error& error) {
    throw error.at(folder->name());
  }
  return folder;
}

}  // namespace

std::unique_ptr<ModelFolder> settle_generator(const Job& job, const Settings& settings,
                                              ModelConfig& config) {
  const ElectraOptions& options = settings.electra;
  if (!has_generator(config)) {
    if (options.generator.empty()) return nullptr;
    throw Error(Code::kUsage, cat("there is no generator for ", task_name(config.task)),
                "--generator", "leave it out, or give --task electra");
  }
  require_possible(job, settings, config);
  if (options.generator.empty()) {
    config.generator = scaled_generator(config, options.generator_hidden_fraction);
    return nullptr;
  }
  return open_generator(job, options.generator, config);
}

std::unique_ptr<ModelFolder> finished_generator(const Job& job, const Settings& settings,
                                                ModelConfig& config) {
  if (!has_generator(config) || !settings.electra.generator.empty()) {
    return settle_generator(job, settings, config);
  }
  require_possible(job, settings, config);
  const Uri beside = Uri::parse(settings.model.model) / kGeneratorFolderName;
  if (!job.storage.stat(beside / "config.json")) {
    throw Error(Code::kNotFound, "the discriminator cannot be evaluated without its generator",
                beside.to_string(), "name it with --generator");
  }
  return open_generator(job, beside.to_string(), config);
}

void fill_generator(ModelFolder& folder, const ModelConfig& config, int threads,
                    ParameterTensors& values) {
  const std::optional<ModelParameters> found = folder.parameters();
  if (!found) {
    throw Error(Code::kNotFound, "no model.safetensors or pytorch_model.bin", folder.name(),
                "name a generator that was trained, or leave --generator out for a new one");
  }
  GeneratorTensors generator(config, values);
  LoadReport report;
  try {
    report = load_parameters(*found->tensors, generator, threads);
  } catch (const Error& error) {
    throw error.at(found->file);
  }
  if (report.missing.empty()) return;
  log_info(cat("initialised at random, as the generator's file has none: ",
               counted(report.missing.size(), "tensor"), " of its head"));
}

}  // namespace berth
