#include "trainer/xla/pjrt/plugin.h"

#include <dlfcn.h>

#include <filesystem>
#include <memory>
#include <sstream>
#include <variant>

#include "storage/base/error.h"
#include "trainer/xla/pjrt/api.h"
#include "trainer/xla/pjrt/deadline.h"
#include "trainer/xla/pjrt/library_file.h"

namespace berth {
namespace {

const char kNameAPlugin[] = "name the shared library of a PJRT plugin";

const PJRT_Api* table_of(const std::string& path) {
  check_library_is_whole(path);
  // RTLD_LOCAL: a plugin brings its own copies of libraries that this program also uses.
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = ::dlerror();
    std::string text = reason == nullptr ? "no reason given" : reason;
    if (text.starts_with(path + ": ")) text.erase(0, path.size() + 2);
    throw Error(Code::kUsage, "cannot be loaded: " + text, path, kNameAPlugin);
  }
  using GetPjrtApi = const PJRT_Api* (*)();
  const auto get = reinterpret_cast<GetPjrtApi>(::dlsym(library, "GetPjrtApi"));
  if (get == nullptr) {
    throw Error(Code::kUsage, "has no function GetPjrtApi, so it is not a PJRT plugin", path,
                kNameAPlugin);
  }
  const PJRT_Api* table = get();
  if (table == nullptr)
    throw Error(Code::kUsage, "GetPjrtApi returned nothing", path, kNameAPlugin);
  return table;
}

void check_version(const PJRT_Api& table, const std::string& path) {
  constexpr size_t kVersionEnd = PJRT_STRUCT_SIZE(PJRT_Api, pjrt_api_version);
  constexpr size_t kErrorsEnd = PJRT_STRUCT_SIZE(PJRT_Api, PJRT_Error_Message);
  const int major = table.struct_size < kVersionEnd ? -1 : table.pjrt_api_version.major_version;
  if (major != PJRT_API_MAJOR) {
    throw Error(Code::kUsage,
                "is a plugin of PJRT's major version " +
                    (major < 0 ? "\"unknown\"" : std::to_string(major)) +
                    ", but this program needs " + std::to_string(PJRT_API_MAJOR),
                path, "use a plugin of that major version");
  }
  if (table.struct_size < kErrorsEnd || table.PJRT_Error_Destroy == nullptr ||
      table.PJRT_Error_Message == nullptr) {
    throw Error(Code::kUsage, "is a plugin that cannot report errors", path, kNameAPlugin);
  }
}

void initialize(const PjrtApi& api) {
  auto args = PJRT_ARGS(Plugin_Initialize);
  try {
    PJRT_CALL(api, Plugin_Initialize, args);
  } catch (const Error& error) {
    const Code code = error.code() == Code::kMemory ? Code::kMemory : Code::kUsage;
    throw Error(code, error.problem(), error.where(),
                "check that its device and the device's driver are present");
  }
}

std::vector<PjrtNamedValue> read_attributes(const PjrtApi& api) {
  if (!api.has(&PJRT_Api::PJRT_Plugin_Attributes)) return {};
  auto args = PJRT_ARGS(Plugin_Attributes);
  PJRT_CALL(api, Plugin_Attributes, args);
  return from_plugin(args.attributes, args.num_attributes);
}

}  // namespace

PjrtPlugin::PjrtPlugin(const std::string& path, double deadline_s) : path_(path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    throw Error(Code::kNotFound, "no such file", path, kNameAPlugin);
  }
  struct Opened {
    std::unique_ptr<PjrtApi> api;
    std::vector<PjrtNamedValue> attributes;
  };
  // Shared with a thread that may have to be left behind.
  const auto opened = std::make_shared<Opened>();
  const auto open = [opened, path] {
    const PJRT_Api* table = table_of(path);
    check_version(*table, path);
    opened->api = std::make_unique<PjrtApi>(table, path);
    initialize(*opened->api);
    opened->attributes = read_attributes(*opened->api);
  };
  run_within(deadline_s, open, [&] {
    std::ostringstream text;
    text << "the plugin did not start within " << deadline_s << " s";
    throw Error(Code::kUsage, text.str(), path,
                "check that this machine has its device, or raise the limit");
  });
  api_ = std::move(opened->api);
  attributes_ = std::move(opened->attributes);
}

PjrtPlugin::~PjrtPlugin() = default;

std::string PjrtPlugin::api_version() const { return api_->version(); }

std::string PjrtPlugin::stablehlo_version() const {
  for (const PjrtNamedValue& attribute : attributes_) {
    const auto* numbers = std::get_if<std::vector<int64_t>>(&attribute.value);
    if (attribute.name != "stablehlo_current_version" || numbers == nullptr) continue;
    std::string text;
    for (const int64_t number : *numbers)
      text += (text.empty() ? "" : ".") + std::to_string(number);
    return text;
  }
  return "";
}

}  // namespace berth
