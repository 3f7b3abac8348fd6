// convert_checkpoint to_tensorflow MODEL.safetensors PREFIX
// convert_checkpoint to_safetensors PREFIX MODEL.safetensors
//
// Converts between a model with Hugging Face names and a TensorFlow checkpoint of one shard.
// tests/peers/check_tensorflow.py compares the results with TensorFlow.

#include <iostream>

#include "storage/base/bytes.h"
#include "storage/base/error.h"
#include "storage/formats/converted_tensors.h"
#include "storage/formats/safetensors.h"
#include "storage/formats/tensor_bundle.h"
#include "tests/support/scratch_directory.h"
#include "trainer/weights/tensorflow_model.h"

namespace berth {
namespace {

void to_tensorflow(const std::string& model, const std::string& prefix) {
  const std::string file = read_text(model);
  MemorySink index, data;
  write_tensor_bundle(TensorflowVariables(SafetensorsReader(as_bytes(file)).tensors()).tensors(),
                      index, data);
  write_text(shard_name(prefix, 0, 1), as_text(data.written));
  write_text(prefix + ".index", as_text(index.written));
}

void to_safetensors(const std::string& prefix, const std::string& model) {
  const std::string index = read_text(prefix + ".index"),
                    data = read_text(shard_name(prefix, 0, 1));
  const TensorflowModel tensors(TensorBundleIndex(as_bytes(index)),
                                [&](int32_t) { return as_bytes(data); });
  MemorySink sink;
  write_safetensors(sink, ConvertedTensors(tensors).tensors(), {{"format", "pt"}});
  write_text(model, as_text(sink.written));
}

}  // namespace
}  // namespace berth

int main(int argc, char** argv) {
  const std::string direction = argc == 4 ? argv[1] : "";
  try {
    if (direction == "to_tensorflow") {
      berth::to_tensorflow(argv[2], argv[3]);
    } else if (direction == "to_safetensors") {
      berth::to_safetensors(argv[2], argv[3]);
    } else {
      std::cerr << "convert_checkpoint to_tensorflow|to_safetensors FROM TO\n";
      return 2;
    }
  } catch (const berth::Error& error) {
    std::cerr << error.what() << "\n";
    return berth::exit_code(error.code());
  }
}
