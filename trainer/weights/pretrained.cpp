#include "trainer/weights/pretrained.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>

#include "storage/base/counted.h"
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
  Lookup(const TensorReader& file, std::span<const ParameterSpec> specs) {
    const auto tensors = file.tensors();
    prefix_ = prefix_of(tensors, specs);
    for (const NamedTensor& tensor : tensors) {
      by_name_[plain_name(tensor.name).substr(prefix_.size())] = {&tensor, false};
    }
  }

  const std::string& prefix() const { return prefix_; }

  const NamedTensor* take(const ParameterSpec& spec) {
    if (const NamedTensor* found = take(spec.name)) return found;
    for (const std::string& alias : spec.aliases) {
      if (const NamedTensor* found = take(alias)) return found;
    }
    return nullptr;
  }

  const NamedTensor* find(const std::string& name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : found->second.tensor;
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

  // torch.compile wraps a module, which may be any: "_orig_mod." may stand anywhere in a name.
  static std::string plain_name(std::string name) {
    constexpr std::string_view kWrapper = "_orig_mod.";
    for (size_t at = name.find(kWrapper); at != name.npos; at = name.find(kWrapper, at)) {
      if (at == 0 || name[at - 1] == '.') {
        name.erase(at, kWrapper.size());
      } else {
        ++at;
      }
    }
    return name;
  }

  // What all names begin with, up to a dot, and are not known with: torch.nn.DataParallel,
  // Lightning and others put the name of their attribute before every name. An encoder alone has a
  // prefix with which its parameters are known ("bert.").
  static std::string prefix_of(std::span<const NamedTensor> tensors,
                               std::span<const ParameterSpec> specs) {
    if (tensors.empty()) return "";
    std::unordered_set<std::string> known;
    for (const ParameterSpec& spec : specs) {
      known.insert(spec.name);
      known.insert(spec.aliases.begin(), spec.aliases.end());
    }
    const std::string first = plain_name(tensors.front().name);
    std::string prefix;
    while (true) {
      const auto has = [&](const NamedTensor& tensor) {
        return known.contains(plain_name(tensor.name).substr(prefix.size()));
      };
      if (std::ranges::any_of(tensors, has)) return prefix;
      const size_t dot = first.find('.', prefix.size());
      if (dot == first.npos) return "";
      prefix = first.substr(0, dot + 1);
      const auto begins = [&](const NamedTensor& tensor) {
        return plain_name(tensor.name).starts_with(prefix);
      };
      if (!std::ranges::all_of(tensors, begins)) return "";
    }
  }

  std::unordered_map<std::string, Entry> by_name_;
  std::string prefix_;
};

// Whether the two tensors of a file have other numbers.
bool differ(const TensorReader& file, const NamedTensor& a, const NamedTensor& b) {
  if (a.dtype != b.dtype || a.shape != b.shape) return true;
  constexpr int64_t kRows = 1024;
  std::vector<std::byte> of_a, of_b;
  for (int64_t row = 0; row < a.rows(); row += kRows) {
    const int64_t count = std::min(kRows, a.rows() - row);
    if (!std::ranges::equal(file.read_rows(a, row, count, of_a),
                            file.read_rows(b, row, count, of_b))) {
      return true;
    }
  }
  return false;
}

[[noreturn]] void refuse_classifier(const NamedTensor& source, const ParameterSpec& spec) {
  throw Error(
      Code::kUsage,
      cat("the model was fine-tuned for ", counted(source.rows(), "output"), ", and the job has ",
          spec.shape[0], " (", source.name, " is ", shape_text(source.shape), ")"),
      "", "--ignore_mismatched_sizes starts a new head for the job's classes");
}

// The names of TensorFlow's tensors have slashes.
void refuse_tensorflow_names(const std::vector<std::string>& names) {
  const auto has_slash = [](const std::string& name) {
    return name.find('/') != std::string::npos;
  };
  const auto found = std::ranges::find_if(names, has_slash);
  if (found == names.end()) return;
  throw Error(Code::kBadData,
              cat("the tensors have TensorFlow's names (", *found, "), and berth reads PyTorch's"),
              "", kFromTensorFlow);
}

}  // namespace

LoadReport load_parameters(const TensorReader& file, ParameterTensors& values, int threads,
                           const TensorRules& rules) {
  Lookup lookup(file, values.specs());
  LoadReport report;
  report.prefix = lookup.prefix();
  std::vector<const NamedTensor*> sources(values.specs().size());
  std::vector<std::string> missing, unfit, unexpected;
  for (size_t i = 0; i < sources.size(); ++i) {
    const ParameterSpec& spec = values.specs()[i];
    const NamedTensor* source = sources[i] = lookup.take(spec);
    const bool is_of_classes =
        !rules.classifier.empty() && spec.is_head && spec.name.starts_with(rules.classifier + ".");
    if (source != nullptr && is_of_classes) {
      const bool fits = source->shape == spec.shape;
      if (!fits && !rules.classifier_is_new && !rules.ignores_mismatched_sizes) {
        refuse_classifier(*source, spec);
      }
      if (!fits || rules.classifier_is_new) {
        source = sources[i] = nullptr;
        report.left_out_classifier = true;
      }
    }
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
  const MaskedLmHeadNames* tied = rules.tied;
  const NamedTensor* decoder = tied == nullptr ? nullptr : lookup.find(tied->own_decoder);
  for (size_t i = 0; decoder != nullptr && i < sources.size(); ++i) {
    const bool is_tied_to = values.specs()[i].name == tied->decoder && sources[i] != nullptr;
    if (is_tied_to) report.has_other_decoder = differ(file, *decoder, *sources[i]);
  }
  for (std::string& name : lookup.rest()) {
    (is_known_extra(name) ? report.ignored : unexpected).push_back(std::move(name));
  }

  refuse_tensorflow_names(unexpected);
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
