#include "trainer/xla/xla_device.h"

#include <algorithm>
#include <cctype>

#include "storage/base/error.h"
#include "storage/base/process_resources.h"
#include "storage/base/text.h"
#include "trainer/xla/network/group_losses.h"
#include "trainer/xla/self_check.h"
#include "trainer/xla/xla_engine.h"

namespace berth {
namespace {

// The number of devices of all hosts. Each host sends its number to the others.
size_t devices_of_all(const PjrtHosts& hosts, size_t own) {
  const auto key = [](int64_t rank) { return cat("devices/", rank); };
  hosts.store->set(key(hosts.rank), as_bytes(std::to_string(own)));
  size_t all = 0;
  for (int64_t rank = 0; rank < hosts.size; ++rank) {
    const std::vector<std::byte> count = hosts.store->get(key(rank));
    all += std::stoul(std::string(as_text(count)));
  }
  return all;
}

// All devices of all hosts compute.
XlaReplicas replicas_on(const PjrtClient& client, const PjrtHosts& hosts) {
  const std::span<const PjrtDevice> own = client.devices();
  XlaReplicas replicas{.client = client, .devices = {}, .numbers = {}, .all_hosts = 0};
  replicas.all_hosts = devices_of_all(hosts, own.size());
  if (client.all_devices() != replicas.all_hosts) {
    throw Error(Code::kUsage,
                cat("does not join the devices of several hosts: it knows ",
                    counted(client.all_devices(), "device"), ", and the ", hosts.size,
                    " workers have ", replicas.all_hosts),
                client.plugin().path(), "check the environment that joins them, or use one worker");
  }
  const std::vector<int> ids = client.default_device_ids(static_cast<int>(replicas.all_hosts));
  for (size_t number = 0; number < ids.size(); ++number) {
    for (const PjrtDevice& device : own) {
      if (device.id != ids[number]) continue;
      replicas.devices.push_back(device);
      replicas.numbers.push_back(number);
    }
  }
  return replicas;
}

// The devices that the replicas of programs get.
std::vector<PjrtDevice> devices_for(const PjrtClient& client, int64_t wanted) {
  const auto available = static_cast<int64_t>(client.devices().size());
  if (wanted > available || wanted < 0) {
    throw Error(Code::kUsage,
                cat(counted(wanted, "device"), ", where this process can use ", available),
                client.plugin().path());
  }
  std::vector<PjrtDevice> devices;
  for (const int id :
       client.default_device_ids(static_cast<int>(wanted > 0 ? wanted : available))) {
    for (const PjrtDevice& device : client.devices()) {
      if (device.id == id) devices.push_back(device);
    }
  }
  return devices;
}

class XlaDevice final : public Device {
 public:
  explicit XlaDevice(const XlaDeviceOptions& options)
      : plugin_(options.plugin_path, options.deadline_s),
        client_(plugin_, options.deadline_s, options.hosts, options.gpu_memory),
        cache_(options.cache_directory, options.compiler_environment, options.compile_deadline_s),
        replicas_(
            options.hosts.are_several()
                ? replicas_on(client_, options.hosts)
                : XlaReplicas{.client = client_, .devices = devices_for(client_, options.devices)}),
        generator_(options.generator) {
    if (!options.platform.empty() && client_.platform() != options.platform) {
      throw Error(Code::kUsage,
                  cat("the plugin is for ", client_.platform(), ", not for ", options.platform),
                  options.plugin_path);
    }
    check_computes_correctly(client_, cache_);
    plugin_bytes_ = resident_bytes() - std::min(resident_bytes(), resident_before_);
    const bool is_bf16 = options.product_dtype == DType::kBF16;
    const std::string& kind = replicas_.devices.front().kind;
    info_ = {
        .description = cat("xla-", client_.platform(), is_bf16 ? "-bf16" : "-fp32",
                           kind == client_.platform() ? "" : ", " + kind,
                           generator_ == DropoutGenerator::kThreefry ? ", Threefry" : "", ", PJRT ",
                           plugin_.api_version(), ", ", counted(replicas_.total(), "device")),
        .precision = is_bf16 ? Precision::kBf16 : Precision::kFp32,
        .updates_in_flight = 1};
    peak_ = static_cast<double>(replicas_.total()) *
            berth::peak_flops(kind, options.product_dtype).value_or(0);
  }

  const EngineInfo& info() const override { return info_; }
  double peak_flops() override { return peak_; }
  EngineMemory memory_of(const EngineOptions& options) override {
    require_known_loss(options.config);
    EngineMemory memory = xla_memory(options, replicas_.total(), is_host());
    memory.plugin += plugin_bytes_;
    return memory;
  }
  std::optional<DeviceMemory> memory() const override {
    return is_host() ? std::nullopt : replicas_.memory();
  }
  void set_profiler(Profiler* profiler) override { profiler_ = profiler; }
  std::unique_ptr<Engine> make_engine(const EngineOptions& options) override {
    require_known_loss(options.config);
    try {
      return std::make_unique<XlaEngine>(info_, options, replicas_, cache_, generator_, profiler_);
    } catch (const Error& error) {
      throw with_batch_that_fits(error, options, replicas_);
    }
  }

 private:
  // Whether the devices' memory is the host's.
  bool is_host() const { return client_.platform() == "cpu"; }

  const uint64_t resident_before_ = resident_bytes();  // the plugin is opened
  const PjrtPlugin plugin_;
  const PjrtClient client_;
  const ExecutableCache cache_;
  const XlaReplicas replicas_;
  const DropoutGenerator generator_;
  Profiler* profiler_ = nullptr;  // of this process's side of what engines do
  EngineInfo info_;
  double peak_ = 0;
  size_t plugin_bytes_ = 0;  // of the host's memory, as the plugin took it to open and to check
};

}  // namespace

std::unique_ptr<Device> make_xla_device(const XlaDeviceOptions& options) {
  return std::make_unique<XlaDevice>(options);
}

namespace {

struct Peak {
  std::string_view kind;
  double bf16, fp32;  // TFLOP/s; 0: not published
};

// TPUs: the pages of each version at cloud.google.com/tpu/docs. The numbers there are for a chip,
// which is two devices in v2, v3 and 7x. GPUs: NVIDIA's data sheets of each product, without
// sparsity. The T4 and the V100 have no units for bf16, so that such products run at their speed in
// fp32. A row stands before the rows whose kind is the beginning of its own.
constexpr Peak kPeaks[] = {
    {"TPU v2", 45.0 / 2, 0},      {"TPU v3", 123.0 / 2, 0},  {"TPU v4", 275, 0},
    {"TPU v5 lite", 197, 0},      {"TPU v5e", 197, 0},       {"TPU v5", 459, 0},
    {"TPU v5p", 459, 0},          {"TPU v6 lite", 918, 0},   {"TPU v6e", 918, 0},
    {"TPU7x", 2307.0 / 2, 0},     {"Tesla T4", 8.1, 8.1},    {"Tesla V100-PCIE", 14, 14},
    {"Tesla V100", 15.7, 15.7},   {"NVIDIA A10", 125, 31.2}, {"NVIDIA A10G", 70, 31.5},
    {"NVIDIA A100", 312, 19.5},   {"NVIDIA L4", 121, 30.3},  {"NVIDIA H100 PCIe", 756, 51},
    {"NVIDIA H100 NVL", 835, 60}, {"NVIDIA H100", 989, 67},  {"NVIDIA H200 NVL", 835, 60},
    {"NVIDIA H200", 989, 67},     {"NVIDIA B200", 2250, 75},
};

// A GPU's name goes on with its form and its memory: "NVIDIA A100-SXM4-40GB".
bool is_of(std::string_view kind, std::string_view known) {
  if (!kind.starts_with(known)) return false;
  if (kind.size() == known.size()) return true;
  return !known.starts_with("TPU") &&
         std::isalnum(static_cast<unsigned char>(kind[known.size()])) == 0;
}

}  // namespace

std::optional<double> peak_flops(std::string_view kind, DType product_dtype) {
  if (kind.find(" MIG ") != kind.npos) return std::nullopt;  // a part of a GPU
  for (const Peak& peak : kPeaks) {
    if (!is_of(kind, peak.kind)) continue;
    const double tera = product_dtype == DType::kBF16 ? peak.bf16 : peak.fp32;
    return tera > 0 ? std::optional(tera * 1e12) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace berth
