#include <algorithm>

#include "storage/base/crc32c.h"
#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/formats/tensor_bundle.h"
#include "storage/formats/tensor_bundle/table_writer.h"

namespace berth {

void write_tensor_bundle(std::span<const NamedTensor> tensors, ByteSink& index, ByteSink& data) {
  std::vector<const NamedTensor*> sorted;
  for (const NamedTensor& tensor : tensors) sorted.push_back(&tensor);
  std::sort(sorted.begin(), sorted.end(),
            [](const NamedTensor* a, const NamedTensor* b) { return a->name < b->name; });
  std::string_view last;
  for (const NamedTensor* tensor : sorted) {
    const auto elements = static_cast<uint64_t>(tensor->elements());
    if (tensor->name == last || tensor->name.front() == '\0' ||
        tensor->data.size() != elements * size_of(tensor->dtype)) {
      throw Error(Code::kInternal,
                  cat("a tensor of ", tensor->data.size(), " bytes that no checkpoint can hold"),
                  quoted(tensor->name));
    }
    last = tensor->name;
  }

  TableWriter table(index);
  table.add("", bundle_header_bytes());
  uint64_t offset = 0;
  for (const NamedTensor* tensor : sorted) {
    const BundleEntry entry{.name = tensor->name,
                            .type = tensorflow_type(tensor->dtype),
                            .shape = tensor->shape,
                            .offset = offset,
                            .size_bytes = tensor->data.size(),
                            .crc32c = crc32c(tensor->data)};
    table.add(tensor->name, bundle_entry_bytes(entry));
    data.write(tensor->data);
    offset += tensor->data.size();
  }
  table.finish();
}

}  // namespace berth
