#pragma once

#include "storage/storage.h"
#include "trainer/loop/model_folder.h"
#include "trainer/loop/options.h"

namespace berth {

// Writes the model of `folder` to `directory` as model.onnx with its config.json. The task, which
// says what the graph's outputs are, is that of --task, or else the one that the model was saved
// for; a model without one becomes an encoder without a head. Throws kUsage where the model cannot
// be exported so, kNotFound where it has no parameters, and kBadData where they do not fit.
void convert_to_onnx(Storage& storage, const Settings& settings, ModelFolder& folder,
                     const Uri& directory);

}  // namespace berth
