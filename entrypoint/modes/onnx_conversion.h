#pragma once

#include "storage/storage.h"
#include "trainer/loop/model_folder.h"
#include "trainer/loop/options.h"
#include "trainer/loop/sentence_files.h"
#include "trainer/model/parameter_tensors.h"

namespace berth {

// A model that is to be written as model.onnx with its config.json.
class OnnxConversion {
 public:
  // Reads the model of `folder` and writes nothing. The task, which says what the graph's outputs
  // are, is that of --task, or else the one that the model was saved for; a model without one
  // becomes an encoder without a head. Throws kUsage where the model cannot be exported so,
  // kNotFound where it has no parameters, and kBadData where they do not fit the model or
  // --export-dtype.
  OnnxConversion(const Settings& settings, ModelFolder& folder);

  void write(Storage& storage, const Uri& directory) const;

 private:
  const DType dtype_;
  const SentenceFiles files_;
  const ModelConfig config_;
  const bool gives_types_;
  HostTensors values_;
};

}  // namespace berth
