#include "trainer/xla/pjrt/buffer.h"

#include <string>
#include <utility>

#include "trainer/xla/pjrt/api.h"
#include "trainer/xla/pjrt/element_type.h"

namespace berth {
namespace {

void destroy_buffer(const PjrtApi& api, PJRT_Buffer* buffer) noexcept {
  auto args = PJRT_ARGS(Buffer_Destroy);
  args.buffer = buffer;
  PJRT_DESTROY(api, Buffer_Destroy, args);
}

}  // namespace

PjrtBuffer::PjrtBuffer(const PjrtApi& api, PJRT_Buffer* buffer) : api_(&api), buffer_(buffer) {}

PjrtBuffer::~PjrtBuffer() {
  if (buffer_ != nullptr) destroy_buffer(*api_, buffer_);
}

PjrtBuffer::PjrtBuffer(PjrtBuffer&& other) noexcept
    : api_(other.api_), buffer_(std::exchange(other.buffer_, nullptr)) {}

PjrtBuffer& PjrtBuffer::operator=(PjrtBuffer&& other) noexcept {
  if (this == &other) return *this;
  if (buffer_ != nullptr) destroy_buffer(*api_, buffer_);
  api_ = other.api_;
  buffer_ = std::exchange(other.buffer_, nullptr);
  return *this;
}

std::vector<int64_t> PjrtBuffer::dimensions() const {
  auto args = PJRT_ARGS(Buffer_Dimensions);
  args.buffer = buffer_;
  PJRT_CALL(*api_, Buffer_Dimensions, args);
  return {args.dims, args.dims + args.num_dims};
}

DType PjrtBuffer::dtype() const {
  auto args = PJRT_ARGS(Buffer_ElementType);
  args.buffer = buffer_;
  PJRT_CALL(*api_, Buffer_ElementType, args);
  if (const auto dtype = dtype_of(args.type)) return *dtype;
  throw Error(Code::kInternal,
              "a buffer has PJRT's element type " + std::to_string(static_cast<int>(args.type)) +
                  ", which this program does not know",
              api_->plugin());
}

size_t PjrtBuffer::size_bytes() const {
  size_t bytes = size_of(dtype());
  for (const int64_t dimension : dimensions()) bytes *= static_cast<size_t>(dimension);
  return bytes;
}

size_t PjrtBuffer::device_bytes() const {
  auto args = PJRT_ARGS(Buffer_OnDeviceSizeInBytes);
  args.buffer = buffer_;
  PJRT_CALL(*api_, Buffer_OnDeviceSizeInBytes, args);
  return args.on_device_size_in_bytes;
}

PjrtEvent PjrtBuffer::start_download(std::span<std::byte> out) const {
  if (out.size() != size_bytes()) {
    throw Error(Code::kInternal,
                "a buffer of " + std::to_string(size_bytes()) + " bytes was to be copied to " +
                    std::to_string(out.size()),
                api_->plugin());
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

  auto args = PJRT_ARGS(Buffer_ToHostBuffer);
  args.src = buffer_;
  args.host_layout = &layout;
  args.dst = out.data();
  args.dst_size = out.size();
  PJRT_CALL(*api_, Buffer_ToHostBuffer, args);
  return {*api_, args.event};
}

void PjrtBuffer::download(std::span<std::byte> out) const { start_download(out).await(); }

void PjrtBuffer::remove() {
  if (is_deleted()) return;
  auto args = PJRT_ARGS(Buffer_Delete);
  args.buffer = buffer_;
  PJRT_CALL(*api_, Buffer_Delete, args);
}

bool PjrtBuffer::is_deleted() const {
  auto args = PJRT_ARGS(Buffer_IsDeleted);
  args.buffer = buffer_;
  PJRT_CALL(*api_, Buffer_IsDeleted, args);
  return args.is_deleted;
}

}  // namespace berth
