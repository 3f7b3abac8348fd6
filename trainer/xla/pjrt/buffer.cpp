#include "trainer/xla/pjrt/buffer.h"

#include <utility>

#include "storage/base/text.h"
#include "trainer/xla/pjrt/api.h"

namespace berth {

void PjrtEvent::await() {
  const PjrtOwned<PJRT_Event> once = std::move(event_);  // destroyed even where the call throws
  if (once) PJRT_CALL(*plugin_, Event_Await, args.event = once.get());
}

std::vector<int64_t> PjrtBuffer::dimensions() const {
  const auto answer = PJRT_CALL(*plugin_, Buffer_Dimensions, args.buffer = handle());
  return {answer.dims, answer.dims + answer.num_dims};
}

DType PjrtBuffer::dtype() const {
  const auto type = PJRT_CALL(*plugin_, Buffer_ElementType, args.buffer = handle()).type;
  if (const auto dtype = dtype_of(type)) return *dtype;
  throw Error(Code::kInternal,
              cat("a buffer has PJRT's element type ", static_cast<int>(type),
                  ", which this program does not know"),
              plugin_->path());
}

size_t PjrtBuffer::size_bytes() const {
  size_t bytes = size_of(dtype());
  for (const int64_t dimension : dimensions()) bytes *= static_cast<size_t>(dimension);
  return bytes;
}

PjrtEvent PjrtBuffer::start_download(std::span<std::byte> out) const {
  if (out.size() != size_bytes()) {
    throw Error(Code::kInternal,
                cat("a buffer of ", size_bytes(), " bytes was to be copied to ", out.size()),
                plugin_->path());
  }
  // Without a layout the values would arrive in the device's own order, which need not be
  // row-major.
  std::vector<int64_t> minor_to_major(dimensions().size());
  for (size_t i = 0; i < minor_to_major.size(); ++i) {
    minor_to_major[i] = static_cast<int64_t>(minor_to_major.size() - 1 - i);
  }
  auto layout = pjrt_args<PJRT_Buffer_MemoryLayout>(PJRT_Buffer_MemoryLayout_STRUCT_SIZE);
  layout.type = PJRT_Buffer_MemoryLayout_Type_Tiled;
  layout.tiled.struct_size = PJRT_Buffer_MemoryLayout_Tiled_STRUCT_SIZE;
  layout.tiled.minor_to_major = minor_to_major.data();
  layout.tiled.minor_to_major_size = minor_to_major.size();

  auto copy = PJRT_ARGS(Buffer_ToHostBuffer);
  copy.src = handle();
  copy.host_layout = &layout;
  copy.dst = out.data();
  copy.dst_size = out.size();
  return {*plugin_, PJRT_CALL(*plugin_, Buffer_ToHostBuffer, args = copy).event};
}

}  // namespace berth
