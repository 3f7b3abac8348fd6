#include "trainer/loop/tfds_folder.h"

#include <map>
#include <nlohmann/json.hpp>

#include "storage/archive.h"
#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "storage/formats/tfrecord.h"
#include "storage/whole_file.h"
#include "trainer/loop/parameter_files.h"
#include "trainer/loop/split_folder.h"

namespace berth {
namespace {

// Returns "train" for "ag_news-train.tfrecord-00000-of-00001", and "" for a name of another form.
std::string split_of(const Uri& file) {
  const std::string name(without_compression_suffix(file.file_name()));
  const size_t end = name.find(".tfrecord");
  const size_t dash = end == std::string::npos ? end : name.rfind('-', end);
  return dash == std::string::npos ? "" : name.substr(dash + 1, end - dash - 1);
}

// The names of the features that features.json describes as class labels or sequences of them.
std::vector<std::string> class_labels(const Json& features) {
  std::vector<std::string> names;
  const Json::json_pointer list("/featuresDict/features");
  if (!features.contains(list) || !features.at(list).is_object()) return names;
  for (const auto& [name, feature] : features.at(list).items()) {
    if (to_text(feature).find("\"classLabel\"") != std::string::npos) names.push_back(name);
  }
  return names;
}

}  // namespace

std::optional<TfdsFolder> find_tfds_folder(Storage& storage, const Uri& file) {
  const Uri folder = folder_of(file);
  const std::optional<std::string> text = read_text(storage, folder / "features.json");
  if (!text) return std::nullopt;
  const Json features = parse_json(*text);
  if (!features.is_object()) {
    throw Error(Code::kBadData, "the file is not a JSON object",
                (folder / "features.json").to_string());
  }
  TfdsFolder found;
  for (const std::string& name : class_labels(features)) {
    if (const auto labels = read_text(storage, folder / (name + ".labels.txt"))) {
      found.class_names[name] = parted(*labels, "\r\n");
    }
  }
  return found;
}

std::vector<Uri> split_files(const std::vector<Uri>& files, const std::string& role) {
  std::map<std::string, std::vector<Uri>> splits;
  for (const Uri& file : files) {
    if (names_records(without_compression_suffix(file.file_name()))) {
      splits[split_of(file)].push_back(file);
    }
  }
  return files_for(splits, role);
}

}  // namespace berth
