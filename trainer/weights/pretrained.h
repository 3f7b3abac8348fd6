#pragma once

#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/formats/tensor_file.h"
#include "trainer/model/parameter_tensors.h"
#include "trainer/model/part_names.h"

namespace berth {

// One tensor of a file, and the parameter that gets its numbers. They have the same number of
// elements.
struct TensorUpload {
  NamedTensor source;
  size_t parameter = 0;
};

// Reads the tensors as fp32 into `target` on at most `threads` threads. Threads help: mapping the
// pages of a file, touching the pages of the target and transposing take long on one core. A thread
// works on some rows of one tensor at a time, so it holds only a few megabytes however large the
// tensor is. If several tensors fail, throws the failure of the first one in the given order.
void upload_tensors(const TensorReader& file, std::span<const TensorUpload> uploads,
                    ParameterTensors& target, int threads);

// How to convert weights of TensorFlow, as a hint.
inline constexpr const char* kFromTensorFlow =
    "convert them with transformers 4 and TensorFlow: AutoModel.from_pretrained(FOLDER, "
    "from_tf=True).save_pretrained(NEW_FOLDER)";

// How to join the parts of a checkpoint of DeepSpeed, as a hint.
inline constexpr const char* kFromDeepSpeed =
    "join the parts with the script that DeepSpeed leaves beside them: "
    "python zero_to_fp32.py . pytorch_model.bin";

// Further rules for loading a file of tensors.
struct TensorRules {
  // Of a head that multiplies by the word embeddings: if the file has its bias under both names,
  // the alias counts, as in transformers 5. Null: there is no such head.
  const MaskedLmHeadNames* tied = nullptr;
  // The last layer of the head ("classifier"), whose shape depends on the classes. "": none.
  std::string classifier{};
  bool classifier_is_new = false;         // the file's belongs to another task: it is left out
  bool ignores_mismatched_sizes = false;  // it is left out where its shape is another one
};

// Throws kBadData if the weights of `file` are quantized: integers, or integers with scales.
void require_plain_weights(const TensorReader& file);

// What happened when a file of tensors was loaded into a model.
struct LoadReport {
  std::vector<size_t> missing;  // parameters of the head and adapters that the file lacks
  // Tensors of other heads and position buffers, which the model does not use.
  std::vector<std::string> ignored;
  bool left_out_classifier = false;  // as one of the rules says
  // The prefix that was removed: all names of the file began with it, or at least the names of the
  // encoder's parameters.
  std::string prefix;
  std::vector<std::string> without_prefix;  // the names of the others, which were left out
  // Tensors that neither the encoder nor its head has, outside the encoder's own names: a loss or a
  // head of another program. They were left out as well.
  std::vector<std::string> beside_encoder;
};

// How a file differs from a configuration that ties the decoder of masked tokens to the words.
struct OwnDecoder {
  bool weight = false;  // it has a decoder with other numbers than the word embeddings
  bool bias = false;    // it has a bias of the decoder with other numbers than the head's bias
};

// `specs` are the parameters of a tied model, and `names` are the names of its head.
OwnDecoder find_own_decoder(const TensorReader& file, std::span<const ParameterSpec> specs,
                            const MaskedLmHeadNames& names);

// Throws kBadData where a RoFormer's file has a table of sines with other numbers, as transformers
// 5 trains them. `head_size` is even.
void require_sines(const TensorReader& file, int64_t head_size);

// Copies every parameter from `file` into `values` by its name or an alias, on at most `threads`
// threads. All names of the file, or all that the encoder needs, may begin with the same prefixes,
// such as DataParallel's "module." or Lightning's "model.". The wrappers of torch.compile, FSDP and
// gradient checkpointing may stand anywhere in a name. Tensors may be F32, F16, BF16 or F64. Throws
// kBadData, listing the names, if parameters of the encoder are missing, tensors are unexpected, or
// shapes differ. An unknown tensor outside the encoder's own names is left out. Calls file.verify()
// after all parameters were copied and passes on what it throws.
LoadReport load_parameters(const TensorReader& file, ParameterTensors& values, int threads,
                           const TensorRules& rules = {});

// How RenamedTensors calls a parameter: as its file does behind prefixes and wrappers, such as
// "embeddings.LayerNorm.gamma", or by the name in the parameter table.
enum class NamesAs { kInFile, kOfParameters };

// The tensors of a file without the prefixes and wrappers that load_parameters() takes off. Other
// programs know such names. Tensors without the common prefix are left out, and all others are
// there, also the heads of other tasks. Thread-safe once built.
class RenamedTensors final : public TensorReader {
 public:
  // `file` must outlive this. `specs` are the parameters that the file may have. Throws kBadData,
  // as load_parameters() does, where parameters of the encoder are missing, where adapters are not
  // merged, and for names of TensorFlow.
  RenamedTensors(const TensorReader& file, std::span<const ParameterSpec> specs, NamesAs as);

  std::span<const NamedTensor> tensors() const override { return tensors_; }
  Bytes read_rows(const NamedTensor& tensor, int64_t first_row, int64_t count,
                  std::vector<std::byte>& memory) const override;
  void verify() const override { file_.verify(); }

  const std::string& prefix() const { return prefix_; }
  const std::vector<std::string>& left_out() const { return left_out_; }
  // With kInFile: whether any name has a prefix or a wrapper in the file.
  bool has_wrappers() const { return has_wrappers_; }

 private:
  const TensorReader& file_;
  std::vector<NamedTensor> tensors_;
  std::unordered_map<std::string, const NamedTensor*> sources_;  // by their new names
  std::string prefix_;
  std::vector<std::string> left_out_;
  bool has_wrappers_ = false;
};

}  // namespace berth
