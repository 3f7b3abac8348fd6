#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/formats/damage.h"
#include "storage/formats/torch/torch_layout.h"

namespace berth {
namespace {

constexpr double kMagic = 119547037146038801333356.0;  // 0x1950a86a20f9469cfc6c, rounded to 53 bits
constexpr int64_t kProtocol = 1001;

// Reads the pickles of one file, one after the other.
class Pickles {
 public:
  explicit Pickles(Bytes file) : file_(file) {}

  uint64_t offset() const { return offset_; }

  LoadedPickle next(TorchDialect& dialect) {
    try {
      LoadedPickle pickle = load_torch_pickle(file_.subspan(offset_), dialect);
      offset_ += pickle.size_bytes;
      return pickle;
    } catch (const Error& error) {
      throw error.at(cat("pickle at byte ", offset_));
    }
  }

 private:
  const Bytes file_;
  uint64_t offset_ = 0;
};

void require_magic(Pickles& pickles, TorchDialect& dialect) {
  const LoadedPickle magic = pickles.next(dialect);
  if (!magic.graph.is(magic.top, NodeKind::kFloat) || magic.graph.real(magic.top) != kMagic) {
    fail_at_byte(0, "a pickle, but not PyTorch's magic number");
  }
  const uint64_t at = pickles.offset();
  const LoadedPickle protocol = pickles.next(dialect);
  if (!protocol.graph.is(protocol.top, NodeKind::kInt) ||
      protocol.graph.integer(protocol.top) != kProtocol) {
    fail_at_byte(at, "not PyTorch's protocol 1001");
  }
}

void require_little_endian(Pickles& pickles, TorchDialect& dialect) {
  const uint64_t at = pickles.offset();
  const LoadedPickle system = pickles.next(dialect);
  if (!system.graph.is(system.top, NodeKind::kDict))
    fail_at_byte(at, "no description of the machine");
  if (system.graph.find(system.top, "little_endian") == PickleGraph::kFalse) {
    throw Error(Code::kBadData, "holds big-endian numbers", cat("byte ", at),
                "save the model on a little-endian machine");
  }
}

void read_storage(Cursor& cursor, const std::string& key, TorchStorage& storage) {
  const uint64_t at = cursor.offset();
  const uint64_t elements = cursor.u64();
  if (elements != storage.elements) {
    fail_at_byte(
        at, cat("storage ", quoted(key), " has ", elements, " elements, not ", storage.elements));
  }
  storage.data = cursor.take(storage.size_bytes);
}

}  // namespace

TorchContents read_torch_legacy(Bytes file) {
  Pickles pickles(file);
  TorchDialect dialect;
  require_magic(pickles, dialect);
  require_little_endian(pickles, dialect);
  TorchContents contents{.object = pickles.next(dialect), .storages = dialect.take_storages()};

  const uint64_t keys_at = pickles.offset();
  const LoadedPickle keys = pickles.next(dialect);
  if (!keys.graph.is(keys.top, NodeKind::kList)) fail_at_byte(keys_at, "no list of storages");
  const auto listed = keys.graph.items(keys.top);
  if (listed.size() != contents.storages.size()) {
    fail_at_byte(keys_at, cat("lists ", listed.size(), " storages, but the tensors refer to ",
                              contents.storages.size()));
  }
  Cursor cursor(file);
  cursor.skip(pickles.offset());
  for (const NodeId item : listed) {
    const auto found = keys.graph.is_text(item) ? contents.storages.find(keys.graph.text(item))
                                                : contents.storages.end();
    if (found == contents.storages.end()) {
      fail_at_byte(keys_at, cat("lists ", keys.graph.describe(item), " that no tensor refers to"));
    }
    if (found->second.data.data() != nullptr) {
      fail_at_byte(keys_at, cat("lists storage ", quoted(found->first), " twice"));
    }
    read_storage(cursor, found->first, found->second);
  }
  if (!cursor.at_end()) {
    fail_at_byte(cursor.offset(), cat(cursor.remaining(), " bytes after the last storage"));
  }
  return contents;
}

}  // namespace berth
