#include "storage/formats/torch_file.h"

#include <set>

#include "storage/base/crc32.h"
#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/formats/damage.h"
#include "storage/formats/git_lfs.h"
#include "storage/formats/torch/strided.h"
#include "storage/formats/torch/torch_layout.h"
#include "storage/formats/torch/torch_views.h"
#include "storage/formats/zip_file.h"

namespace berth {
namespace {

constexpr uint64_t kGatherFactor = 2;  // copies together, as a multiple of the file's size
constexpr uint64_t kGatherAlways = uint64_t{1} << 20;

TorchContents read_contents(Bytes file) {
  if (is_zip(file)) return read_torch_zip(file);
  refuse_lfs_pointer(as_text(file));
  if (file.empty() || file[0] != std::byte{0x80}) {
    throw Error(Code::kCorrupt, "neither a zip file nor a pickle", "byte 0",
                "pass a file that torch.save wrote");
  }
  return read_torch_legacy(file);
}

// Compares the checksum of every storage that a tensor uses, once each.
void require_whole(const std::vector<TorchView>& views, const TorchStorages& storages) {
  std::set<std::string_view> seen;
  for (const TorchView& view : views) {
    if (!seen.insert(view.storage).second) continue;
    const TorchStorage& storage = storages.find(view.storage)->second;
    if (storage.crc != 0 && crc32(storage.data) != storage.crc) {
      fail_tensor(view.name, cat("the CRC-32 of storage ", quoted(view.storage), " differs"));
    }
  }
}

}  // namespace

TorchFileReader::TorchFileReader(Bytes file) {
  const TorchContents contents = read_contents(file);
  std::vector<TorchView> views = read_state_dict(contents.object.graph, contents.object.top);
  require_whole(views, contents.storages);
  uint64_t may_gather = kGatherFactor * file.size() + kGatherAlways;
  for (TorchView& view : views) {
    const TorchStorage& storage = contents.storages.find(view.storage)->second;
    const Strided strided{.shape = view.shape, .stride = view.stride};
    const size_t element_size = size_of(storage.dtype);
    uint64_t elements = 0, size_bytes = 0;
    if (!strided.counts(elements) || __builtin_mul_overflow(elements, element_size, &size_bytes)) {
      fail_tensor(view.name, "its shape overflows");
    }
    if (!strided.fits(view.offset, storage.elements)) {
      fail_tensor(view.name, cat("reaches beyond storage ", quoted(view.storage), ", which has ",
                                 storage.elements, " elements"));
    }
    const Bytes from = storage.data.subspan(view.offset * element_size);
    Bytes data;
    if (strided.is_contiguous()) {
      data = from.first(size_bytes);
    } else {
      if (size_bytes > may_gather) {
        throw Error(Code::kBadData,
                    cat("repeats its storage to ", human_bytes(size_bytes),
                        ", many times the size of the file's data"),
                    cat("tensor ", quoted(view.name)), "save a contiguous copy of the tensor");
      }
      may_gather -= size_bytes;
      gathered_.push_back(strided.gather(from.data(), element_size));
      data = gathered_.back();
    }
    tensors_.push_back({.name = std::move(view.name),
                        .dtype = storage.dtype,
                        .shape = std::move(view.shape),
                        .data = data});
  }
}

}  // namespace berth
