#pragma once

#include <string>
#include <string_view>

namespace berth {

// The splits that a data set has besides train: validation; or test and no validation; or neither.
enum class HubSplits { kUnknown, kValidation, kTest, kNone };

// A data set of the Hugging Face Hub as berth reads it.
struct HubDataSet {
  std::string place;   // "hf://datasets/nyu-mll/glue/mrpc", or a local folder
  std::string remark;  // what is to be known of it
  HubSplits splits;    // as its card says
};

// The files that load_dataset(name, config) reads. `config` may be empty. A name without an
// organisation may belong to a data set that the hub moved below one.
HubDataSet find_hub_data_set(std::string_view name, std::string_view config);

}  // namespace berth
