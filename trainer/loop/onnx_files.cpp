#include "trainer/loop/onnx_files.h"

#include <memory>

#include "storage/store_object.h"
#include "trainer/onnx/make_graph.h"
#include "trainer/onnx/model_writer.h"

namespace berth {

void export_onnx(Storage& storage, const Uri& directory, const ModelConfig& config,
                 const ParameterTensors& values, DType dtype, bool gives_types) {
  const std::unique_ptr<onnx::Graph> graph =
      onnx::make_graph(config, values.specs(), dtype, gives_types);
  const onnx::ModelWriter writer(*graph, values, kOnnxDataFile);
  const Uri model = directory / kOnnxModelFile, data = directory / kOnnxDataFile;
  if (writer.has_data_file()) {
    // An old model must not find the new parameters, so it is removed first, and the new one is
    // written last.
    storage.remove(model);
    store_object(storage, data, [&](ByteSink& sink) { writer.write_data(sink); },
                 {.if_generation = {}, .size_hint = writer.data_bytes()});
  }
  store_object(storage, model, [&](ByteSink& sink) { writer.write_model(sink); },
               {.if_generation = {}, .size_hint = writer.model_bytes()});
  if (!writer.has_data_file()) storage.remove(data);  // of an earlier, larger model
}

}  // namespace berth
