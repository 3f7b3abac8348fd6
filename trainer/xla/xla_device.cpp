#include "trainer/xla/xla_device.h"

#include "storage/base/error.h"

namespace berth {

std::unique_ptr<Device> make_xla_device(const XlaDeviceOptions& options) {
  throw Error(Code::kInternal, "XLA devices are not built yet", options.plugin_path);
}

}  // namespace berth
