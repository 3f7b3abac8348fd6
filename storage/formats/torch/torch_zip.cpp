#include "storage/base/crc32.h"
#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/formats/torch/torch_layout.h"
#include "storage/formats/zip_file.h"

namespace berth {
namespace {

constexpr std::string_view kPickle = "/data.pkl";

// Returns the folder that contains all entries, as "<stem>/". It is the name that the file was
// saved under.
std::string find_folder(const ZipFile& zip) {
  const ZipFile::Entry* found = nullptr;
  for (const ZipFile::Entry& entry : zip.entries()) {
    if (!entry.name.ends_with(kPickle)) continue;
    if (found != nullptr) {
      throw Error(Code::kCorrupt, cat("holds ", quoted(found->name), " and ", quoted(entry.name)));
    }
    found = &entry;
  }
  if (found == nullptr) {
    throw Error(Code::kBadData, "is a zip file, but not PyTorch's: it has no data.pkl", "",
                "pass a file that torch.save wrote");
  }
  return std::string(found->name.substr(0, found->name.size() - kPickle.size() + 1));
}

void require_little_endian(const ZipFile& zip, const std::string& folder) {
  const ZipFile::Entry* order = zip.find(folder + "byteorder");
  if (order != nullptr && as_text(order->data) != "little") {
    throw Error(Code::kBadData, cat("has byte order ", quoted(as_text(order->data))),
                std::string(order->name), "save the model on a little-endian machine");
  }
}

void require_stored(const ZipFile& zip) {
  for (const ZipFile::Entry& entry : zip.entries()) {
    if (!entry.is_deflated) continue;
    throw Error(Code::kBadData, "is compressed, which torch.save never does",
                cat("entry ", quoted(entry.name)), "unpack it and save the model again");
  }
}

LoadedPickle load_object(const ZipFile::Entry& entry, TorchDialect& dialect) {
  const std::string where = cat("entry ", quoted(entry.name));
  if (entry.crc != 0 && crc32(entry.data) != entry.crc) {
    throw Error(Code::kCorrupt, "its CRC-32 differs from the one in the zip directory", where,
                "fetch the file again");
  }
  try {
    return load_torch_pickle(entry.data, dialect);
  } catch (const Error& error) {
    throw error.at(where);
  }
}

}  // namespace

TorchContents read_torch_zip(Bytes file) {
  const ZipFile zip(file);
  require_stored(zip);
  const std::string folder = find_folder(zip);
  require_little_endian(zip, folder);
  TorchDialect dialect;
  TorchContents contents{.object = load_object(*zip.find(folder + "data.pkl"), dialect),
                         .storages = dialect.take_storages()};
  for (auto& [key, storage] : contents.storages) {
    const ZipFile::Entry* entry = zip.find(folder + "data/" + key);
    if (entry == nullptr) {
      throw Error(Code::kCorrupt, "is not in the file", cat("storage ", quoted(key)),
                  "fetch the file again");
    }
    if (entry->data.size() != storage.size_bytes) {
      throw Error(Code::kCorrupt,
                  cat("has ", entry->data.size(), " bytes, not ", storage.size_bytes),
                  cat("storage ", quoted(key)), "fetch the file again");
    }
    storage.data = entry->data;
    storage.crc = entry->crc;
  }
  return contents;
}

}  // namespace berth
