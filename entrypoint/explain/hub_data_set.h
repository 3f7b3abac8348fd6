#pragma once

#include <string>
#include <string_view>

namespace berth {

// A data set of the Hugging Face Hub as berth reads it.
struct HubDataSet {
  std::string place;            // "hf://datasets/nyu-mll/glue/mrpc", or a local folder
  std::string remark;           // what is to be known of it
  bool has_only_train = false;  // it is known to have no rows to evaluate on
};

// The files that load_dataset(name, config) reads. `config` may be empty. A name without an
// organisation may belong to a data set that the hub moved below one.
HubDataSet find_hub_data_set(std::string_view name, std::string_view config);

}  // namespace berth
