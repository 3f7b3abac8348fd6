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
  // Reads the model of `folder` and writes nothing. The task decides the graph's outputs. It is
  // --task, or else the task for which the model was saved. A model without a task becomes an
  // encoder without a head. Throws kUsage if the model cannot be exported in this way, and
  // kNotFound if it has no parameters. Throws kBadData if the parameters do not fit the model or
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
