#include "entrypoint/job/precision_choice.h"

#include <array>
#include <vector>

#include "entrypoint/flags/flags.h"
#include "entrypoint/job/earlier_job.h"
#include "entrypoint/job/earlier_reading.h"
#include "storage/base/bytes.h"
#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
namespace {

constexpr std::array kOfTrainings = {Precision::kAuto, Precision::kFp32, Precision::kBf16};

std::optional<Precision> find_precision(std::string_view name) {
  for (const Precision precision : kOfTrainings) {
    if (name_of(precision) == name) return precision;
  }
  return std::nullopt;
}

bool device_multiplies_bf16(const Job& job) {
  switch (job.device.kind) {
    case DeviceKind::kTpu:
    case DeviceKind::kGpu:
      return true;
    case DeviceKind::kXlaCpu:
      return false;  // it does, but has never used it for --precision auto
    case DeviceKind::kAuto:
    case DeviceKind::kCpu:
      break;
  }
  return host_multiplies_bf16(job);
}

// What a worker tells the others, as bytes.
struct Told {
  Precision precision = Precision::kAuto;
  bool is_given = false;  // by a flag
  bool device_has_bf16 = false, host_has_bf16 = false;

  std::array<std::byte, 4> bytes() const {
    return {std::byte(precision), std::byte(is_given), std::byte(device_has_bf16),
            std::byte(host_has_bf16)};
  }
  static Told of(const std::vector<std::byte>& bytes) {
    return {.precision = static_cast<Precision>(bytes.at(0)),
            .is_given = bytes.at(1) != std::byte{0},
            .device_has_bf16 = bytes.at(2) != std::byte{0},
            .host_has_bf16 = bytes.at(3) != std::byte{0}};
  }
};

std::optional<int64_t> first_without(const std::vector<Told>& workers, bool Told::*has_bf16) {
  for (size_t rank = 0; rank < workers.size(); ++rank) {
    if (!(workers[rank].*has_bf16)) return static_cast<int64_t>(rank);
  }
  return std::nullopt;
}

}  // namespace

std::optional<Precision> precision_of_job(Storage& storage, const JobDirectory& directory) {
  const auto begun = EarlierJob::find(storage, directory.root());
  if (!begun) return std::nullopt;
  const std::string name = begun->setting("precision");
  return name.empty() ? Precision::kFp32 : find_precision(name);
}

CommandLine with_precision_of_job(const Job& job, const JobDirectory& directory) {
  CommandLine line = job.command_line;
  if (line.gives("precision")) return line;
  line.settings.precision =
      precision_of_job(job.storage, directory).value_or(line.settings.precision);
  return line;
}

SettingsTable unnamed_settings() {
  Settings settings;
  settings.precision = Precision::kFp32;
  SettingsTable table = settings_table(settings);
  for (auto& setting : settings_of_older_readings()) table.push_back(std::move(setting));
  return table;
}

SharedPrecision share_precision(const Job& job, Communicator& ranks) {
  const Told own{.precision = job.command_line.settings.precision,
                 .is_given = job.command_line.gives("precision"),
                 .device_has_bf16 = device_multiplies_bf16(job),
                 .host_has_bf16 = host_multiplies_bf16(job)};
  std::vector<Told> workers;
  for (const std::vector<std::byte>& bytes : gather_bytes(ranks, own.bytes())) {
    workers.push_back(Told::of(bytes));
  }
  const Precision precision = workers.front().precision;
  for (size_t rank = 0; rank < workers.size(); ++rank) {
    if (!workers[rank].is_given || workers[rank].precision == precision) continue;
    throw Error(Code::kIncompatible,
                cat("worker 0 goes on with a job that was begun with --precision ",
                    name_of(precision), ", and worker ", rank, " was started with --precision ",
                    name_of(workers[rank].precision)),
                "", "give all workers the same flags");
  }
  return {.precision = precision,
          .without_bf16 = {.device = first_without(workers, &Told::device_has_bf16),
                           .host = first_without(workers, &Told::host_has_bf16)}};
}

}  // namespace berth
