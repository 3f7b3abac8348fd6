#include "trainer/loop/checkpoint_files.h"

#include <nlohmann/json.hpp>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "trainer/loop/file_format.h"

namespace berth {
namespace {

// Runs `read` and converts the JSON library's exceptions to Errors.
template <typename Read>
auto parsing(std::string_view json, const Read& read) {
  const OrderedJson value = parse_ordered_json(json);
  if (value.is_discarded()) throw Error(Code::kCorrupt, "is not JSON");
  try {
    return read(value);
  } catch (const OrderedJson::exception& error) {
    throw Error(Code::kCorrupt, error.what());
  }
}

// A whole number. The library would also take a fraction, or wrap a number that is too large.
int64_t whole(const OrderedJson& value) {
  const bool fits = value.is_number_integer() &&
                    (!value.is_number_unsigned() || value.get<uint64_t>() <= INT64_MAX);
  if (!fits) throw Error(Code::kCorrupt, "a count that is no whole number");
  return value.get<int64_t>();
}

OrderedJson cursor_object(const DataCursor& cursor) {
  return {{"epoch", cursor.epoch}, {"block", cursor.block}, {"index", cursor.index}};
}

DataCursor cursor_of(const OrderedJson& object) {
  return {.epoch = whole(object.at("epoch")),
          .block = whole(object.at("block")),
          .index = whole(object.at("index"))};
}

OrderedJson best_object(const Best& best) {
  return {{"step", best.step}, {"metric", best.metric}, {"value", best.value}};
}

Best best_of(const OrderedJson& object) {
  return {
      .step = whole(object.at("step")), .metric = object.at("metric"), .value = object.at("value")};
}

OrderedJson probe_object(const ProbeReport& probe) {
  return {{"step", probe.step},       {"name", probe.name}, {"metric", probe.metric},
          {"metrics", probe.metrics}, {"loss", probe.loss}, {"examples", probe.examples},
          {"seconds", probe.seconds}};
}

ProbeReport probe_of(const OrderedJson& object) {
  ProbeReport probe{.step = whole(object.at("step")),
                    .name = object.at("name"),
                    .metric = object.at("metric"),
                    .metrics = object.at("metrics").get<std::map<std::string, double>>(),
                    .loss = object.at("loss"),
                    .examples = whole(object.at("examples")),
                    .seconds = object.at("seconds")};
  if (!probe.metrics.contains(probe.metric)) throw Error(Code::kCorrupt, "a probe without a score");
  return probe;
}

}  // namespace

std::string to_json(const TrainingState& state) {
  OrderedJson object = {{"format", kFileFormat},
                        {"step", state.step},
                        {"cursor", cursor_object(state.cursor)},
                        {"examples", state.examples},
                        {"tokens", state.tokens},
                        {"loss_sum", state.loss_sum},
                        {"loss_weight", state.loss_weight},
                        {"evaluated_step", state.evaluated_step},
                        {"best", nullptr},
                        {"kernels", state.kernels},
                        {"job", state.job}};
  if (state.best) object["best"] = best_object(*state.best);
  if (state.is_interim) object["is_interim"] = true;
  if (state.replaces) object["replaces"] = *state.replaces;
  if (state.probed_step >= 0) object["probed_step"] = state.probed_step;
  for (const ProbeReport& probe : state.probes) object["probes"].push_back(probe_object(probe));
  for (const SkippedData& skipped : state.skipped) {
    object["skipped"].push_back(
        {{"from", cursor_object(skipped.from)}, {"to", cursor_object(skipped.to)}});
  }
  return to_text(object, 2) + "\n";
}

TrainingState parse_training_state(std::string_view json) {
  return parsing(json, [](const OrderedJson& object) {
    require_known_format(object);
    TrainingState state{
        .step = whole(object.at("step")),
        .cursor = cursor_of(object.at("cursor")),
        .examples = whole(object.at("examples")),
        .tokens = whole(object.at("tokens")),
        .loss_sum = object.at("loss_sum"),
        .loss_weight = object.at(object.contains("loss_weight") ? "loss_weight" : "examples"),
        .evaluated_step = whole(object.at("evaluated_step")),
        .probed_step = whole(object.value("probed_step", OrderedJson(-1))),
        .is_interim = object.value("is_interim", false),
        .kernels = object.at("kernels"),
        .job = object.value("job", "")};
    if (object.contains("replaces")) state.replaces = whole(object.at("replaces"));
    if (object.contains("probes")) {
      for (const OrderedJson& probe : object.at("probes")) state.probes.push_back(probe_of(probe));
    }
    if (object.contains("skipped")) {
      for (const OrderedJson& skipped : object.at("skipped")) {
        state.skipped.push_back(
            {.from = cursor_of(skipped.at("from")), .to = cursor_of(skipped.at("to"))});
      }
    }
    if (const OrderedJson& best = object.at("best"); !best.is_null()) {
      state.best = best_of(best);
    }
    return state;
  });
}

std::string manifest_json(std::span<const ManifestEntry> entries) {
  OrderedJson files = OrderedJson::array();
  for (const ManifestEntry& entry : entries) {
    files.push_back({{"name", entry.name},
                     {"size", entry.checksum.size},
                     {"crc32c", crc_text(entry.checksum.crc)}});
  }
  return to_text(OrderedJson{{"files", files}}, 2) + "\n";
}

std::vector<ManifestEntry> parse_manifest(std::string_view json) {
  return parsing(json, [](const OrderedJson& object) {
    std::vector<ManifestEntry> entries;
    for (const OrderedJson& file : object.at("files")) {
      const std::string crc = file.at("crc32c");
      if (crc.size() != 8 || crc.find_first_not_of("0123456789abcdef") != std::string::npos) {
        throw Error(Code::kCorrupt, "a crc32c that is not eight hexadecimal digits");
      }
      entries.push_back({.name = file.at("name"),
                         .checksum = {.size = static_cast<uint64_t>(whole(file.at("size"))),
                                      .crc = static_cast<uint32_t>(std::stoul(crc, nullptr, 16))}});
    }
    return entries;
  });
}

Best parse_best(std::string_view json) { return parsing(json, best_of); }

std::string to_json(const Best& best) { return to_text(best_object(best), 2) + "\n"; }

}  // namespace berth
