#pragma once

#include <memory>
#include <string>

#include "storage/base/bytes.h"
#include "storage/formats/safetensors.h"
#include "storage/local_storage.h"
#include "tests/trainer/cpu/network/recorded_tensors.h"
#include "tests/trainer/onnx/model_reader.h"
#include "trainer/model/config.h"
#include "trainer/model/parameter_tensors.h"
#include "trainer/onnx/make_graph.h"
#include "trainer/onnx/model_writer.h"
#include "trainer/weights/pretrained.h"

namespace berth::onnx {

// A small model that transformers made.
class RecordedModel {
 public:
  // One of the models in tests/testdata/architectures.tar.
  explicit RecordedModel(const std::string& name)
      : RecordedModel("architectures/" + name, recorded_task(name)) {}
  // `path` is in tests/testdata, without the suffix.
  RecordedModel(const std::string& path, Task task)
      : file_(map_file(BERTH_TESTDATA "/" + path + ".safetensors")),
        recorded(*file_->view()),
        config(parse_config(recorded.metadata().at("config"))) {
    config.task = task;
    values = std::make_unique<HostTensors>(parameter_table(config));
    load_parameters(Selected(recorded, "param."), *values, /*threads=*/1);
  }

  // What the file of the model says.
  ReadModel written(DType dtype = DType::kF32) const {
    const auto graph = make_graph(config, values->specs(), dtype);
    MemorySink sink;
    ModelWriter(*graph, *values, "data").write_model(sink);
    return read_model(sink.written);
  }

 private:
  std::unique_ptr<RandomAccessSource> file_;

 public:
  const SafetensorsReader recorded;
  ModelConfig config;
  std::unique_ptr<HostTensors> values;
};

}  // namespace berth::onnx
