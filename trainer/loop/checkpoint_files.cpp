#include "trainer/loop/checkpoint_files.h"

#include <nlohmann/json.hpp>

#include "storage/base/error.h"

namespace berth {
namespace {

using Json = nlohmann::ordered_json;

// Runs `read`, turning the JSON library's complaints into ours.
template <typename Read>
auto parsing(std::string_view json, const Read& read) {
  try {
    return read(Json::parse(json));
  } catch (const Json::exception& error) {
    throw Error(Code::kCorrupt, error.what());
  }
}

Json best_object(const Best& best) {
  return {{"step", best.step}, {"metric", best.metric}, {"value", best.value}};
}

}  // namespace

std::string to_json(const TrainingState& state) {
  Json object = {{"format", 1},
                 {"step", state.step},
                 {"cursor",
                  {{"epoch", state.cursor.epoch},
                   {"block", state.cursor.block},
                   {"index", state.cursor.index}}},
                 {"examples", state.examples},
                 {"tokens", state.tokens},
                 {"loss_sum", state.loss_sum},
                 {"evaluated_step", state.evaluated_step},
                 {"best", nullptr},
                 {"kernels", state.kernels}};
  if (state.best) object["best"] = best_object(*state.best);
  return object.dump(2) + "\n";
}

TrainingState parse_training_state(std::string_view json) {
  return parsing(json, [](const Json& object) {
    const Json& cursor = object.at("cursor");
    TrainingState state{.step = object.at("step"),
                        .cursor = {.epoch = cursor.at("epoch"),
                                   .block = cursor.at("block"),
                                   .index = cursor.at("index")},
                        .examples = object.at("examples"),
                        .tokens = object.at("tokens"),
                        .loss_sum = object.at("loss_sum"),
                        .evaluated_step = object.at("evaluated_step"),
                        .kernels = object.at("kernels")};
    if (const Json& best = object.at("best"); !best.is_null()) {
      state.best = {
          .step = best.at("step"), .metric = best.at("metric"), .value = best.at("value")};
    }
    return state;
  });
}

std::string manifest_json(std::span<const ManifestEntry> entries) {
  Json files = Json::array();
  for (const ManifestEntry& entry : entries) {
    files.push_back({{"name", entry.name},
                     {"size", entry.checksum.size},
                     {"crc32c", crc_text(entry.checksum.crc)}});
  }
  return Json{{"files", files}}.dump(2) + "\n";
}

std::vector<ManifestEntry> parse_manifest(std::string_view json) {
  return parsing(json, [](const Json& object) {
    std::vector<ManifestEntry> entries;
    for (const Json& file : object.at("files")) {
      const std::string crc = file.at("crc32c");
      if (crc.size() != 8 || crc.find_first_not_of("0123456789abcdef") != std::string::npos) {
        throw Error(Code::kCorrupt, "a crc32c that is not eight hexadecimal digits");
      }
      entries.push_back({.name = file.at("name"),
                         .checksum = {.size = file.at("size"),
                                      .crc = static_cast<uint32_t>(std::stoul(crc, nullptr, 16))}});
    }
    return entries;
  });
}

std::string to_json(const Best& best) { return best_object(best).dump(2) + "\n"; }

}  // namespace berth
