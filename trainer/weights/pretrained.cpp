#include "trainer/weights/pretrained.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <unordered_map>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/base/thread_pool.h"
#include "storage/formats/converted_tensors.h"
#include "trainer/model/architecture.h"

namespace berth {
namespace {

// The elements that a thread handles at a time. They stay in its core's own cache between being
// read and being uploaded, and 64 rows of the longest matrices of BERT-large fit.
constexpr int64_t kBlockElements = int64_t{256} << 10;
constexpr int64_t kElementsPerThread = int64_t{1} << 20;  // fewer are not worth a thread

// Some rows of one upload.
struct Block {
  const TensorUpload* upload;
  int64_t first_row, rows, columns;
};

std::vector<Block> blocks_of(std::span<const TensorUpload> uploads,
                             const ParameterTensors& target) {
  std::vector<Block> blocks;
  for (const TensorUpload& upload : uploads) {
    const ParameterSpec& spec = target.specs()[upload.parameter];
    const int64_t rows = spec.shape[0], columns = spec.columns();
    const int64_t height = std::max<int64_t>(1, kBlockElements / std::max<int64_t>(1, columns));
    for (int64_t row = 0; row < rows; row += height) {
      blocks.push_back({&upload, row, std::min(height, rows - row), columns});
    }
  }
  return blocks;
}

// Uploads F32 without a copy if the file has the bytes in order.
void upload_block(const TensorReader& file, const Block& block, std::vector<std::byte>& memory,
                  ParameterTensors& target) {
  const TensorUpload& upload = *block.upload;
  const int64_t first = block.first_row * block.columns;
  const Bytes bytes = file.read_rows(upload.source, block.first_row, block.rows, memory);
  if (upload.source.dtype == DType::kF32) {
    target.write(upload.parameter, first, bytes);
    return;
  }
  const NamedTensor part{.name = {}, .dtype = upload.source.dtype, .shape = {}, .data = bytes};
  target.write(upload.parameter, first, std::as_bytes(std::span<const float>(floats_of(part))));
}

// Hands out blocks in order and keeps the failure of the first block that fails. The blocks before
// it were handed out earlier and are done by the end, so the reported failure does not depend on
// timing.
class Work {
 public:
  explicit Work(size_t blocks) : blocks_(blocks) {}

  // Returns the number of blocks when no block is left.
  size_t take() { return failed_ ? blocks_ : std::min(next_.fetch_add(1), blocks_); }

  void fail(size_t block, std::exception_ptr failure) {
    const std::lock_guard lock(mutex_);
    failed_ = true;
    if (failure_ && failed_block_ < block) return;
    failed_block_ = block;
    failure_ = std::move(failure);
  }

  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  const size_t blocks_;
  std::atomic<size_t> next_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  size_t failed_block_ = 0;
  std::exception_ptr failure_;
};

}  // namespace

void upload_tensors(const TensorReader& file, std::span<const TensorUpload> uploads,
                    ParameterTensors& target, int threads) {
  const std::vector<Block> blocks = blocks_of(uploads, target);
  int64_t elements = 0;
  for (const TensorUpload& upload : uploads) {
    elements += target.specs()[upload.parameter].elements();
  }
  const int64_t parts = std::clamp<int64_t>(elements / kElementsPerThread, 1, threads);
  ThreadPool pool(static_cast<int>(parts));
  Work work(blocks.size());
  pool.parallel_for(parts, 1, [&](int64_t, int64_t, int) {
    std::vector<std::byte> memory;
    for (size_t block; (block = work.take()) < blocks.size();) {
      try {
        upload_block(file, blocks[block], memory, target);
      } catch (...) {
        work.fail(block, std::current_exception());
      }
    }
  });
  work.rethrow();
}

namespace {

// Whether a tensor may be ignored: it belongs to the head or pooler of another task, or is a
// position buffer that older releases of transformers saved.
bool is_known_extra(const std::string& name) {
  static const std::vector<std::string_view> heads = words_in(
      "cls. lm_head. classifier. sequence_summary. pre_classifier. pooler. qa_outputs. vocab_ "
      "predictions. generator_predictions. sop_classifier. discriminator_predictions. "
      "generator_lm_head. lm_predictions. head. decoder. mask_predictions.");
  const auto is_pooler = [&](const Architecture& row) {
    return row.encoder_has_pooler && name.starts_with(cat(row.prefix, "pooler."));
  };
  // The first DeBERTa models have position embeddings that their configuration does not use.
  return name.ends_with("embeddings.position_ids") ||
         name.ends_with("embeddings.position_embeddings.weight") ||
         name.ends_with("embeddings.token_type_ids") ||
         name.ends_with("encoder.embed_positions.weight") ||  // RoFormer's sines, a constant
         std::ranges::any_of(heads, [&](auto head) { return name.starts_with(head); }) ||
         std::ranges::any_of(architectures(), is_pooler);
}

std::string shape_text(std::span<const int64_t> shape) { return "[" + joined(shape, ", ") + "]"; }

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
      std::string name = plain_name(tensor.name);
      if (name.starts_with(prefix_)) {
        by_name_[name.substr(prefix_.size())] = {&tensor, false};
      } else {
        without_prefix_.push_back(std::move(name));
      }
    }
  }

  const std::string& prefix() const { return prefix_; }
  const std::vector<std::string>& without_prefix() const { return without_prefix_; }
  // Where no prefix was taken off: the one with which most parameters would be known, and how many.
  const std::pair<std::string, size_t>& partial() const { return partial_; }

  // Whether the last part of a prefix is the name of an architecture: "roberta.", "model.roberta.".
  static bool is_architecture(std::string_view prefix) {
    const size_t dot = prefix.substr(0, prefix.size() - 1).rfind('.');
    const std::string_view last = prefix.substr(dot == prefix.npos ? 0 : dot + 1);
    return last != "model." && std::ranges::any_of(architectures(), [&](const Architecture& row) {
             return row.prefix == last;
           });
  }

  // Whether the name stands beside the encoder: its first part begins no taken name of the encoder.
  // So "fc.weight" stands beside "bert.*", and beside "embeddings.*" and "encoder.*".
  bool is_beside_encoder(const std::string& name) const { return !roots_.contains(root_of(name)); }

  const NamedTensor* take(const ParameterSpec& spec) {
    const NamedTensor* found = take_named(spec, spec.name);
    for (const std::string& alias : spec.aliases) {
      if (found == nullptr) found = take_named(spec, alias);
    }
    return found;
  }

  // The same, where an alias comes before the name.
  const NamedTensor* take_alias(const ParameterSpec& spec) {
    const NamedTensor* own = take_named(spec, spec.name);
    for (const std::string& alias : spec.aliases) {
      if (const NamedTensor* found = take_named(spec, alias)) return found;
    }
    return own;
  }

  const NamedTensor* find(const std::string& name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : found->second.tensor;
  }

  // Every tensor that has the prefix, with the rest of its name.
  std::vector<std::pair<std::string, const NamedTensor*>> all() const {
    std::vector<std::pair<std::string, const NamedTensor*>> named;
    for (const auto& [name, entry] : by_name_) named.emplace_back(name, entry.tensor);
    return named;
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
  // The parameters of the encoder that are there with a prefix. A prefix comes before a longer one
  // that begins with it.
  using Found = std::map<std::string, std::set<size_t>>;

  const NamedTensor* take_named(const ParameterSpec& spec, const std::string& name) {
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) return nullptr;
    found->second.taken = true;
    if (!spec.is_head && !spec.is_adapter) roots_.insert(root_of(name));
    return found->second.tensor;
  }

  static std::string root_of(const std::string& name) { return name.substr(0, name.find('.')); }

  // torch.compile, FSDP, gradient checkpointing and DataParallel wrap a module, which may be any:
  // their names may stand anywhere. A "module." that begins all names is a prefix.
  static std::string plain_name(std::string name) {
    for (const std::string_view wrapper :
         {"_orig_mod.", "_fsdp_wrapped_module.", "_checkpoint_wrapped_module.", "module."}) {
      const bool may_begin = wrapper.starts_with('_');
      for (size_t at = name.find(wrapper); at != name.npos; at = name.find(wrapper, at)) {
        if (at == 0 ? may_begin : name[at - 1] == '.') {
          name.erase(at, wrapper.size());
        } else {
          ++at;
        }
      }
    }
    return name;
  }

  // What the names begin with, up to a dot, and are not known with: DataParallel, Lightning and
  // others put the name of their attribute before every name. All names of the file have it, or
  // all that the encoder needs. An encoder alone has a prefix with which its parameters are known
  // ("bert.").
  std::string prefix_of(std::span<const NamedTensor> tensors,
                        std::span<const ParameterSpec> specs) {
    std::unordered_map<std::string, size_t> known;  // the names of each parameter of the encoder
    std::set<std::string> of_heads;
    size_t needed = 0;
    for (const ParameterSpec& spec : specs) {
      if (spec.is_head || spec.is_adapter) {
        of_heads.insert(spec.name);
        continue;
      }
      known.emplace(spec.name, needed);
      for (const std::string& alias : spec.aliases) known.emplace(alias, needed);
      ++needed;
    }
    // All ends of each name that are known. What stands before such an end may be the prefix.
    Found found;
    for (const NamedTensor& tensor : tensors) {
      const std::string name = plain_name(tensor.name);
      if (of_heads.contains(name)) continue;
      const auto whole_name = known.find(name);
      if (whole_name != known.end()) {
        found[""].insert(whole_name->second);
        continue;
      }
      for (size_t dot = name.find('.'); dot != name.npos; dot = name.find('.', dot + 1)) {
        const auto spec = known.find(name.substr(dot + 1));
        if (spec != known.end()) found[name.substr(0, dot + 1)].insert(spec->second);
      }
    }
    // A prefix with which no parameter of the encoder is missing.
    std::optional<std::string> whole;
    for (const auto& [prefix, parameters] : found) {
      if (parameters.size() < needed || names_architecture(prefix)) continue;
      if (!whole) whole = prefix;
      // Behind a prefix, an encoder alone is known by a longer one, too.
      if (prefix == *whole || (!whole->empty() && prefix.starts_with(*whole))) continue;
      throw Error(Code::kBadData,
                  cat("the file holds several models, with the prefixes ", quoted(*whole), " and ",
                      quoted(prefix)),
                  "", "save the tensors of one of them");
    }
    if (found.contains("")) return "";
    return whole ? *whole : shared_prefix(tensors, found);
  }

  // The prefix of a file that lacks parameters: the one that all names begin with. Where it is the
  // name of an architecture, the encoder's own prefix must follow ("bert.bert.").
  std::string shared_prefix(std::span<const NamedTensor> tensors, const Found& found) {
    for (auto at = found.begin(); at != found.end(); ++at) {
      const auto& [prefix, parameters] = *at;
      const auto begins = [&](const NamedTensor& tensor) {
        return plain_name(tensor.name).starts_with(prefix);
      };
      const bool names_own =
          std::next(at) != found.end() && std::next(at)->first.starts_with(prefix);
      const bool is_another = is_architecture(prefix) && !names_own;
      if (!is_another && std::ranges::all_of(tensors, begins)) return prefix;
      if (parameters.size() > partial_.second) partial_ = {prefix, parameters.size()};
    }
    return "";
  }

  // Whether it ends with the name of an architecture, whose parameters may mean something else.
  static bool names_architecture(std::string_view prefix) {
    // Wrappers have members with the name of ModernBERT's encoder.
    const auto ends_with_it = [&](const Architecture& row) {
      return row.prefix != "model." && prefix.ends_with(row.prefix);
    };
    return prefix.ends_with("longformer.") || std::ranges::any_of(architectures(), ends_with_it);
  }

  std::unordered_map<std::string, Entry> by_name_;
  std::vector<std::string> without_prefix_;
  std::set<std::string> roots_;  // the first parts of the taken names of the encoder
  std::string prefix_;
  std::pair<std::string, size_t> partial_;
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

// PEFT keeps the weights of an adapted module under "base_layer", beside its adapters.
void refuse_adapter_names(const std::vector<std::string>& names) {
  const auto is_of_peft = [](const std::string& name) {
    return name.find(".lora_A.") != std::string::npos ||
           name.find(".lora_B.") != std::string::npos ||
           name.find(".base_layer.") != std::string::npos;
  };
  const auto found = std::ranges::find_if(names, is_of_peft);
  if (found == names.end()) return;
  throw Error(
      Code::kBadData,
      cat("the tensors belong to a PEFT model whose adapters are not merged (", *found, ")"), "",
      "save what its merge_and_unload() returns");
}

// Throws if the weights of a file are quantized. `weight` is a tensor whose type is not readable,
// or null. `names` has each tensor that no parameter takes: scales show quantized weights.
void refuse_quantized(const NamedTensor* weight, const std::vector<std::string>& names) {
  constexpr std::string_view kScales[] = {".SCB",          ".absmax",           ".qweight",
                                          ".qzeros",       ".scales",           ".weight_packed",
                                          ".weight_scale", ".weight_scale_inv", "_weight_qdata"};
  const auto scale = std::ranges::find_if(names, [&](const std::string& name) {
    return std::ranges::any_of(kScales, [&](auto end) { return name.ends_with(end); });
  });
  if (weight == nullptr && scale == names.end()) return;
  throw Error(Code::kBadData,
              cat("the weights are quantized (",
                  weight == nullptr ? *scale : cat(weight->name, " is ", name_of(weight->dtype)),
                  "), and berth reads F32, BF16, F16 and F64"),
              "", "give the model that was quantized");
}

// DeepSpeed's ZeRO stage 3 leaves empty tensors in the place of weights that its ranks share.
void refuse_empty(const NamedTensor& source) {
  if (source.elements() > 0) return;
  throw Error(Code::kBadData,
              cat("the tensor ", source.name, " is empty, as DeepSpeed's ZeRO stage 3 leaves it"),
              "", kFromDeepSpeed);
}

}  // namespace

OwnDecoder find_own_decoder(const TensorReader& file, std::span<const ParameterSpec> specs,
                            const MaskedLmHeadNames& names) {
  Lookup lookup(file, specs);
  OwnDecoder own;
  const NamedTensor* decoder = lookup.find(names.own_decoder);
  const NamedTensor* bias = lookup.find(names.bias);
  // Both are compared number by number, because files hold copies of tied tensors, too.
  for (const ParameterSpec& spec : specs) {
    const NamedTensor* words = spec.name == names.decoder ? lookup.take(spec) : nullptr;
    if (words != nullptr && decoder != nullptr) own.weight = differ(file, *decoder, *words);
  }
  for (const std::string& alias : names.bias_aliases) {
    const NamedTensor* other = lookup.find(alias);
    own.bias |= bias != nullptr && other != nullptr && differ(file, *bias, *other);
  }
  return own;
}

namespace {

// The tensor of a parameter; null: the file has none, or it belongs to other classes than the job's
// and is left out.
const NamedTensor* find_source(Lookup& lookup, const ParameterSpec& spec, const TensorRules& rules,
                               LoadReport& report) {
  const bool is_tied_bias = rules.tied != nullptr && spec.name == rules.tied->bias;
  const NamedTensor* const source = is_tied_bias ? lookup.take_alias(spec) : lookup.take(spec);
  const bool is_of_classes =
      !rules.classifier.empty() && spec.is_head && spec.name.starts_with(rules.classifier + ".");
  if (source == nullptr || !is_of_classes) return source;
  const bool fits = source->shape == spec.shape;
  if (!fits && !rules.classifier_is_new && !rules.ignores_mismatched_sizes) {
    refuse_classifier(*source, spec);
  }
  if (fits && !rules.classifier_is_new) return source;
  report.left_out_classifier = true;
  return nullptr;
}

// Throws kBadData if any of the lists has an entry.
void refuse_problems(const Lookup& lookup, const std::vector<std::string>& missing,
                     const std::vector<std::string>& unfit,
                     const std::vector<std::string>& unexpected) {
  std::string problem;
  const auto add = [&problem](const char* what, const std::vector<std::string>& names) {
    constexpr size_t kShown = 10;  // because a wrong file has hundreds
    if (!names.empty())
      problem += cat(problem.empty() ? "" : "; ", what, joined_first(names, kShown));
  };
  add("parameters are missing: ", missing);
  add("shapes differ: ", unfit);
  add("tensors are unexpected: ", unexpected);
  if (problem.empty()) return;
  const auto& [prefix, count] = lookup.partial();
  if (count > 0) {
    problem += cat("; with the prefix ", quoted(prefix), ", ", counted(count, "parameter"),
                   " would be known");
  }
  throw Error(Code::kBadData, problem, "",
              count > 0 && lookup.is_architecture(prefix)
                  ? "give the config.json that belongs to this file"
                  : "");
}

}  // namespace

RenamedTensors::RenamedTensors(const TensorReader& file, std::span<const ParameterSpec> specs,
                               NamesAs as)
    : file_(file) {
  Lookup lookup(file, specs);
  prefix_ = lookup.prefix();
  left_out_ = lookup.without_prefix();
  std::unordered_map<const NamedTensor*, std::string> names;
  std::vector<std::string> missing;
  for (const auto& [name, tensor] : lookup.all()) names[tensor] = name;
  for (const ParameterSpec& spec : specs) {
    const NamedTensor* const source = lookup.take(spec);
    if (source != nullptr && as == NamesAs::kOfParameters) names[source] = spec.name;
    if (source == nullptr && !spec.is_head && !spec.is_adapter) missing.push_back(spec.name);
  }
  const std::vector<std::string> rest = lookup.rest();
  refuse_adapter_names(rest);
  if (!missing.empty()) refuse_tensorflow_names(rest);
  refuse_problems(lookup, missing, /*unfit=*/{}, /*unexpected=*/{});
  for (const NamedTensor& tensor : file.tensors()) {
    const auto name = names.find(&tensor);
    if (name == names.end()) continue;
    sources_.emplace(name->second, &tensor);
    NamedTensor& renamed = tensors_.emplace_back(tensor);
    renamed.name = name->second;
    has_wrappers_ |= as == NamesAs::kInFile && renamed.name != tensor.name;
  }
}

Bytes RenamedTensors::read_rows(const NamedTensor& tensor, int64_t first_row, int64_t count,
                                std::vector<std::byte>& memory) const {
  return file_.read_rows(*sources_.at(tensor.name), first_row, count, memory);
}

void require_plain_weights(const TensorReader& file) {
  const NamedTensor* unreadable = nullptr;
  std::vector<std::string> names;
  for (const NamedTensor& tensor : file.tensors()) {
    names.push_back(tensor.name);
    const bool is_weight = tensor.name.ends_with(".weight");
    if (is_weight && !is_readable(tensor.dtype) && unreadable == nullptr) unreadable = &tensor;
  }
  refuse_quantized(unreadable, names);
}

void require_sines(const TensorReader& file, int64_t head_size) {
  for (const NamedTensor& tensor : file.tensors()) {
    if (!tensor.name.ends_with("encoder.embed_positions.weight")) continue;
    bool has_sines = tensor.shape.size() == 2 && tensor.shape[1] == head_size;
    has_sines = has_sines && is_readable(tensor.dtype);
    std::vector<std::byte> memory;
    NamedTensor whole = tensor;
    if (has_sines) whole.data = file.read(tensor, memory);
    const std::vector<float> numbers = has_sines ? floats_of(whole) : std::vector<float>();
    const double rounding = tensor.dtype == DType::kBF16 ? 4e-3 : 6e-4;  // of 16 bits
    for (size_t i = 0; has_sines && i < numbers.size(); ++i) {
      const int64_t half = head_size / 2, place = static_cast<int64_t>(i);
      const int64_t column = place % head_size;
      const double turn = static_cast<double>(column % half) / static_cast<double>(half);
      const double angle = static_cast<double>(place / head_size) / std::pow(10000, turn);
      const double expected = column < half ? std::sin(angle) : std::cos(angle);
      has_sines = std::abs(numbers[i] - expected) <= rounding;
    }
    if (has_sines) continue;
    throw Error(Code::kBadData,
                cat(tensor.name, " has other numbers than the sines that berth computes with: ",
                    "transformers 5 trains this table"),
                "", "train the original model with berth, or without this parameter");
  }
}

LoadReport load_parameters(const TensorReader& file, ParameterTensors& values, int threads,
                           const TensorRules& rules) {
  Lookup lookup(file, values.specs());
  LoadReport report;
  report.prefix = lookup.prefix();
  report.without_prefix = lookup.without_prefix();
  // 1. The source of each parameter, and what is wrong with the file.
  std::vector<TensorUpload> uploads;
  const NamedTensor* unreadable = nullptr;
  std::vector<std::string> missing, unfit, unexpected;
  for (size_t i = 0; i < values.specs().size(); ++i) {
    const ParameterSpec& spec = values.specs()[i];
    const NamedTensor* const source = find_source(lookup, spec, rules, report);
    if (source == nullptr) {
      if (spec.is_head || spec.is_adapter) {
        report.missing.push_back(i);
      } else {
        missing.push_back(spec.name);
      }
    } else if (!is_readable(source->dtype)) {
      if (unreadable == nullptr) unreadable = source;
    } else if (source->shape != spec.shape) {
      refuse_empty(*source);
      unfit.push_back(cat(source->name, " is ", name_of(source->dtype), " ",
                          shape_text(source->shape), " where the configuration wants ",
                          shape_text(spec.shape)));
    } else {
      uploads.push_back({*source, i});
    }
  }
  for (std::string& name : lookup.rest()) {
    (is_known_extra(name) ? report.ignored : unexpected).push_back(std::move(name));
  }
  refuse_tensorflow_names(unexpected);
  refuse_adapter_names(unexpected);
  refuse_quantized(unreadable, unexpected);
  // A parameter under a second name is no tensor of another network.
  const auto is_parameter = [&](std::string_view name) {
    return std::ranges::any_of(values.specs(), [&](const ParameterSpec& spec) {
      return spec.name == name || spec.name.substr(spec.name.find('.') + 1) == name;
    });
  };
  if (missing.empty() && unfit.empty()) {
    std::erase_if(unexpected, [&](const std::string& name) {
      if (!lookup.is_beside_encoder(name) || is_parameter(name)) return false;
      report.beside_encoder.push_back(name);
      return true;
    });
  }
  refuse_problems(lookup, missing, unfit, unexpected);

  // 2. The numbers.
  upload_tensors(file, uploads, values, threads);
  file.verify();
  return report;
}

}  // namespace berth
