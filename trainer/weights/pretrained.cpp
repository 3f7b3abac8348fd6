#include "trainer/weights/pretrained.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "trainer/weights/upload_tensors.h"

namespace berth {
namespace {

// Whether a tensor may be ignored: it belongs to the head or pooler of another task, or is a
// position buffer that older releases of transformers saved.
bool is_known_extra(const std::string& name) {
  constexpr std::array<std::string_view, 21> kHeads = {"cls.",
                                                       "lm_head.",
                                                       "classifier.",
                                                       "pre_classifier.",
                                                       "pooler.",
                                                       "qa_outputs.",
                                                       "vocab_",
                                                       "predictions.",
                                                       "generator_predictions.",
                                                       "bert.pooler.",
                                                       "sop_classifier.",
                                                       "roberta.pooler.",
                                                       "albert.pooler.",
                                                       "mpnet.pooler.",
                                                       "nomic_bert.pooler.",
                                                       "discriminator_predictions.",
                                                       "generator_lm_head.",
                                                       "lm_predictions.",
                                                       "head.",
                                                       "decoder.",
                                                       "mask_predictions."};
  // The first DeBERTa models have position embeddings that their configuration does not use.
  return name.ends_with("embeddings.position_ids") ||
         name.ends_with("embeddings.position_embeddings.weight") ||
         name.ends_with("embeddings.token_type_ids") ||
         std::any_of(kHeads.begin(), kHeads.end(),
                     [&](std::string_view head) { return name.starts_with(head); });
}

std::string shape_text(std::span<const int64_t> shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return text + "]";
}

// Lists at most ten names, because a wrong file has hundreds.
std::string list_of(const std::vector<std::string>& names) {
  constexpr size_t kShown = 10;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kShown); ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  if (names.size() > kShown) text += cat(" and ", names.size() - kShown, " more");
  return text;
}

bool is_readable(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16 ||
         dtype == DType::kF64;
}

// The tensors of a file by name. It remembers which of them were taken.
class Lookup {
 public:
  explicit Lookup(const TensorReader& file) {
    // torch.nn.DataParallel and DistributedDataParallel put this before every name.
    constexpr std::string_view kWrapper = "module.";
    const auto tensors = file.tensors();
    const bool wrapped = std::ranges::all_of(
        tensors, [&](const NamedTensor& tensor) { return tensor.name.starts_with(kWrapper); });
    for (const NamedTensor& tensor : tensors) {
      by_name_[wrapped ? tensor.name.substr(kWrapper.size()) : tensor.name] = {&tensor, false};
    }
  }

  const NamedTensor* take(const ParameterSpec& spec) {
    if (const NamedTensor* found = take(spec.name)) return found;
    for (const std::string& alias : spec.aliases) {
      if (const NamedTensor* found = take(alias)) return found;
    }
    return nullptr;
  }

  // The names of tensors that were not taken, sorted.
  std::vector<std::string> rest() const {
    std::vector<std::string> names;
    for (const auto& [name, entry] : by_name_) {
      if (!entry.taken) names.push_back(name);
    }
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  struct Entry {
    const NamedTensor* tensor;
    bool taken;
  };

  const NamedTensor* take(const std::string& name) {
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) return nullptr;
    found->second.taken = true;
    return found->second.tensor;
  }

  std::unordered_map<std::string, Entry> by_name_;
};

}  // namespace

LoadReport load_parameters(const TensorReader& file, ParameterTensors& values, int threads) {
  Lookup lookup(file);
  LoadReport report;
  std::vector<const NamedTensor*> sources(values.specs().size());
  std::vector<std::string> missing, unfit, unexpected;
  for (size_t i = 0; i < sources.size(); ++i) {
    const ParameterSpec& spec = values.specs()[i];
    const NamedTensor* source = sources[i] = lookup.take(spec);
    if (source == nullptr) {
      if (spec.is_head || spec.is_adapter) {
        report.missing.push_back(i);
      } else {
        missing.push_back(spec.name);
      }
    } else if (source->shape != spec.shape || !is_readable(source->dtype)) {
      unfit.push_back(cat(source->name, " is ", name_of(source->dtype), " ",
                          shape_text(source->shape), " where the configuration wants ",
                          shape_text(spec.shape)));
    }
  }
  for (std::string& name : lookup.rest()) {
    (is_known_extra(name) ? report.ignored : unexpected).push_back(std::move(name));
  }

  std::string problem;
  const auto add = [&problem](const char* what, const std::vector<std::string>& names) {
    if (!names.empty()) problem += (problem.empty() ? "" : "; ") + (what + list_of(names));
  };
  add("parameters are missing: ", missing);
  add("shapes differ: ", unfit);
  add("tensors are unexpected: ", unexpected);
  if (!problem.empty()) throw Error(Code::kBadData, problem);

  std::vector<TensorUpload> uploads;
  for (size_t i = 0; i < sources.size(); ++i) {
    if (sources[i] != nullptr) uploads.push_back({*sources[i], i});
  }
  upload_tensors(file, uploads, values, threads);
  file.verify();
  return report;
}

}  // namespace berth
