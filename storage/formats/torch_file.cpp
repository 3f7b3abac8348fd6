#include "storage/formats/torch_file.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/base/checksum.h"
#include "storage/base/dtype.h"
#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/formats/damage.h"
#include "storage/formats/pickle/pickle_graph.h"
#include "storage/formats/pickle/pickle_machine.h"
#include "storage/formats/tensor_file.h"
#include "storage/formats/zip_file.h"

namespace berth {
namespace {

// A strided view of an array: element (i, j, ...) is at index i x stride[0] + j x stride[1] + ...
// All values are counts of elements and not negative. Both spans have the same length and must
// outlive this object.
struct Strided {
  std::span<const int64_t> shape, stride;

  // Has no elements.
  bool is_empty() const { return std::find(shape.begin(), shape.end(), 0) != shape.end(); }

  // Computes the number of elements. Returns false if it exceeds 2^63 - 1.
  bool counts(uint64_t& elements) const {
    int64_t count = is_empty() ? 0 : 1;
    if (count != 0) {
      for (const int64_t size : shape) {
        if (__builtin_mul_overflow(count, size, &count)) return false;
      }
    }
    elements = static_cast<uint64_t>(count);
    return true;
  }

  // Whether the view, starting at `offset`, lies within an array of `elements` elements.
  bool fits(uint64_t offset, uint64_t elements) const {
    if (is_empty()) return offset <= elements;
    uint64_t last = offset;
    for (size_t i = 0; i < shape.size(); ++i) {
      uint64_t reach;
      if (__builtin_mul_overflow(static_cast<uint64_t>(shape[i] - 1),
                                 static_cast<uint64_t>(stride[i]), &reach) ||
          __builtin_add_overflow(last, reach, &last)) {
        return false;
      }
    }
    return last < elements;
  }

  // Whether the elements are row-major without gaps, so that no copy is needed.
  bool is_contiguous() const {
    if (is_empty()) return true;
    int64_t expected = 1;
    for (size_t i = shape.size(); i-- > 0;) {
      if (shape[i] != 1 && stride[i] != expected) return false;
      expected *= shape[i];
    }
    return true;
  }

  // Copies the elements, each of `element_size` bytes, in row-major order. `first` points to the
  // view's first element. Requires fits().
  std::vector<std::byte> gather(const std::byte* first, size_t element_size) const {
    uint64_t elements = 0;
    counts(elements);
    std::vector<std::byte> gathered(elements * element_size);
    std::vector<int64_t> index(shape.size());
    uint64_t at = 0;  // may wrap around if a dimension of size 1 has an absurd stride
    for (std::byte* out = gathered.data(); out != gathered.data() + gathered.size();
         out += element_size) {
      std::memcpy(out, first + at * element_size, element_size);
      for (size_t i = shape.size(); i-- > 0;) {
        at += static_cast<uint64_t>(stride[i]);
        if (++index[i] < shape[i]) break;
        at -= static_cast<uint64_t>(shape[i]) * static_cast<uint64_t>(stride[i]);
        index[i] = 0;
      }
    }
    return gathered;
  }
};

// A storage that a pickle refers to: the flat array that one or more tensors view.
struct TorchStorage {
  DType dtype = DType::kF32;
  uint64_t elements = 0;
  uint64_t size_bytes = 0;
  Bytes data{};      // borrowed; empty until the file's layout has been read
  uint32_t crc = 0;  // CRC-32 of `data`; 0 if the file has none
};
using TorchStorages = std::map<std::string, TorchStorage, std::less<>>;  // by key

constexpr GlobalEntry kTorchEntries[] = {
    {"collections", "OrderedDict", Global::kOrderedDict},
    {"torch._utils", "_rebuild_tensor", Global::kRebuildTensor},
    {"torch._utils", "_rebuild_tensor_v2", Global::kRebuildTensorV2},
    {"torch._utils", "_rebuild_parameter", Global::kRebuildParameter},
    {"torch", "FloatStorage", Global::kTorchStorage},
    {"torch", "DoubleStorage", Global::kTorchStorage},
    {"torch", "HalfStorage", Global::kTorchStorage},
    {"torch", "BFloat16Storage", Global::kTorchStorage},
    {"torch", "LongStorage", Global::kTorchStorage},
    {"torch", "IntStorage", Global::kTorchStorage},
    {"torch", "ShortStorage", Global::kTorchStorage},
    {"torch", "CharStorage", Global::kTorchStorage},
    {"torch", "ByteStorage", Global::kTorchStorage},
    {"torch", "BoolStorage", Global::kTorchStorage},
    {"torch", "ComplexFloatStorage", Global::kTorchStorage},
    {"torch", "ComplexDoubleStorage", Global::kTorchStorage},
    {"torch", "QInt8Storage", Global::kTorchStorage},
    {"torch", "QUInt8Storage", Global::kTorchStorage},
    {"torch", "QInt32Storage", Global::kTorchStorage},
};

constexpr GlobalEntry kPersistent = {"torch", "storage", Global::kTorchPersistent};
constexpr size_t kLargestPickle = size_t{8} << 20;
constexpr size_t kLongestKey = 64;  // PyTorch's keys are numbers

struct ElementType {
  std::string_view storage;
  DType dtype;
};
constexpr ElementType kElementTypes[] = {
    {"FloatStorage", DType::kF32},     {"DoubleStorage", DType::kF64}, {"HalfStorage", DType::kF16},
    {"BFloat16Storage", DType::kBF16}, {"LongStorage", DType::kI64},   {"IntStorage", DType::kI32},
    {"ShortStorage", DType::kI16},     {"CharStorage", DType::kI8},    {"ByteStorage", DType::kU8},
    {"BoolStorage", DType::kBool}};

DType dtype_of_storage(std::string_view storage_class) {
  const auto* found = std::find_if(std::begin(kElementTypes), std::end(kElementTypes),
                                   [&](const auto& type) { return type.storage == storage_class; });
  if (found == std::end(kElementTypes)) {
    throw Error(Code::kBadData, cat("tensors of torch.", storage_class, " are not supported"), "",
                "save the model in float32, bfloat16 or float16");
  }
  return found->dtype;
}

[[noreturn]] void refuse(const PickleGraph& graph, const char* what, NodeId callable) {
  throw Error(
      Code::kBadData,
      cat(what, " ", graph.describe(callable), ", which no state dict needs; nothing was executed"),
      "", "if you trust the file, load it in Python and save its state dict alone, by torch.save");
}

// The pickles of torch.save: dicts of tensors and plain values. The allowed globals are
// collections.OrderedDict, torch._utils._rebuild_tensor, _rebuild_tensor_v2, _rebuild_parameter,
// and the classes torch.<X>Storage. Everything else is refused, other names in torch included.
// Records the storages that the pickle refers to.
class TorchDialect final : public PickleDialect {
 public:
  std::string_view kind() const override { return "state dict"; }

  std::optional<GlobalEntry> find_global(std::string_view module,
                                         std::string_view name) const override {
    const auto* found =
        std::find_if(std::begin(kTorchEntries), std::end(kTorchEntries),
                     [&](const auto& e) { return e.name == name && e.module == module; });
    if (found == std::end(kTorchEntries)) return std::nullopt;
    return *found;
  }

  NodeId reduce(PickleGraph& graph, NodeId callable, NodeId arguments) override {
    if (!graph.is(arguments, NodeKind::kTuple)) {
      throw Error(Code::kCorrupt, cat("calls with ", graph.describe(arguments), ", not a tuple"));
    }
    if (graph.is_global(callable, Global::kOrderedDict)) {
      if (graph.items(arguments).empty()) return graph.add_items(NodeKind::kDict, {});
      return graph.add_object(callable, arguments);  // Python 2 passes a list of pairs
    }
    if (graph.is_global(callable, Global::kRebuildTensor) ||
        graph.is_global(callable, Global::kRebuildTensorV2) ||
        graph.is_global(callable, Global::kRebuildParameter)) {
      return graph.add_object(callable, arguments);
    }
    refuse(graph, "calls", callable);
  }

  NodeId new_object(PickleGraph& graph, NodeId cls, NodeId) override {
    refuse(graph, "makes an instance of", cls);
  }

  void build(PickleGraph& graph, NodeId object, NodeId state) override {
    // A module's state dict has the attribute {'_metadata': versions}, which is not needed here.
    const bool is_dict =
        graph.is(object, NodeKind::kDict) || graph.is_made_by(object, Global::kOrderedDict);
    if (!is_dict || !graph.is(state, NodeKind::kDict)) refuse(graph, "gives state to", object);
  }

  // Turns ('storage', torch.<X>Storage, key, device, elements[, None]) into an object of
  // kTorchPersistent.
  std::optional<NodeId> persistent(PickleGraph& graph, NodeId id) override {
    const bool has_view = graph.is_sequence(id) && graph.items(id).size() == 6;
    const auto parts = graph.items_of(id, has_view ? 6 : 5, "a reference to a storage");
    const auto is_text = [&](NodeId part) { return graph.is_text(part); };
    if (!is_text(parts[0]) || graph.text(parts[0]) != "storage" ||
        !graph.is_global(parts[1], Global::kTorchStorage) || !is_text(parts[2]) ||
        !is_text(parts[3]) || !graph.is(parts[4], NodeKind::kInt)) {
      throw Error(Code::kBadData, "refers to something that is not a storage");
    }
    if (has_view && parts[5] != PickleGraph::kNone) {
      throw Error(Code::kBadData, "holds a view of a storage, as PyTorch 0.1 wrote", "",
                  "save the model again with a newer PyTorch");
    }
    const std::string_view key = graph.text(parts[2]);
    if (key.empty() || key.size() > kLongestKey) {
      throw Error(Code::kCorrupt, cat("a storage's key of ", key.size(), " bytes"));
    }
    TorchStorage storage{.dtype = dtype_of_storage(graph.global(parts[1]).name)};
    const int64_t elements = graph.integer(parts[4]);
    storage.elements = static_cast<uint64_t>(elements);
    if (elements < 0 ||
        __builtin_mul_overflow(storage.elements, size_of(storage.dtype), &storage.size_bytes)) {
      throw Error(Code::kCorrupt, cat("storage ", quoted(key), " of ", elements, " elements"));
    }
    const auto [known, is_new] = storages_.try_emplace(std::string(key), storage);
    if (!is_new &&
        (known->second.dtype != storage.dtype || known->second.elements != storage.elements)) {
      throw Error(Code::kCorrupt, cat("storage ", quoted(key), " has two types or sizes"));
    }
    return graph.add_object(graph.add_global(kPersistent), id);
  }

  // Returns all storages, without their data, including storages that no tensor uses.
  TorchStorages take_storages() { return std::move(storages_); }

 private:
  TorchStorages storages_;
};

// Parses the pickle at the beginning of `file`. Reads at most 8 MiB, because no model needs more.
LoadedPickle load_torch_pickle(Bytes file, TorchDialect& dialect) {
  const Bytes pickle = file.first(std::min(file.size(), kLargestPickle));
  return load_pickle({pickle.begin(), pickle.end()}, dialect);
}

// Returns the key of a storage that persistent() created.
std::string_view storage_key(const PickleGraph& graph, NodeId storage) {
  return graph.text(graph.items(graph.arguments(storage))[2]);
}

// The contents of a torch.save file: the object, and the data of every storage that it refers to.
struct TorchContents {
  LoadedPickle object;
  TorchStorages storages;  // their data are borrowed from the file
};

// read_torch_legacy() and read_torch_zip() throw kCorrupt, naming the byte, entry or storage, on
// damage. They throw kBadData on files that are not supported (big-endian, compressed), and on
// pickles with anything but tensors and plain values.

constexpr double kMagicNumber =
    119547037146038801333356.0;  // 0x1950a86a20f9469cfc6c, rounded to 53 bits
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
  if (!magic.graph.is(magic.top, NodeKind::kFloat) || magic.graph.real(magic.top) != kMagicNumber) {
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

// Earlier versions write pickles one after the other:
//
//   magic | protocol 1001 | {"little_endian", ...} | object | [keys] | { i64 elements | data } ...
//
// There is one storage per key, in the order of the keys.
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

// PyTorch 1.6 and later write a zip file:
//
//   <stem>/data.pkl | <stem>/data/<key>, one per storage | <stem>/version
//   | [<stem>/byteorder] | ...
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

// One tensor of a state dict, which is a view of a storage. All numbers count elements. Nothing has
// been compared with the storage's size yet.
struct TorchView {
  std::string name;
  std::string storage;  // the key of its storage
  uint64_t offset = 0;
  std::vector<int64_t> shape, stride;  // of equal length; no value is negative
};

constexpr size_t kMostTorchDimensions = 32, kMostTensors = 100'000;
constexpr int kMostNested = 4;  // for example {"model": {"state_dict": {...}}}

struct Item {
  NodeId key, value;
};

// Returns the items of a dict, or of an OrderedDict as Python 2 pickles it: built from a list of
// pairs.
std::optional<std::vector<Item>> dict_items(const PickleGraph& graph, NodeId id) {
  std::vector<Item> items;
  if (graph.is(id, NodeKind::kDict)) {
    const auto links = graph.items(id);
    for (size_t i = 0; i < links.size(); i += 2) items.push_back({links[i], links[i + 1]});
    return items;
  }
  if (!graph.is_made_by(id, Global::kOrderedDict)) return std::nullopt;
  const NodeId pairs = graph.items_of(graph.arguments(id), 1, "the argument of an OrderedDict")[0];
  if (!graph.is_sequence(pairs))
    throw Error(Code::kBadData, "makes an OrderedDict from something other than a list");
  for (const NodeId pair : graph.items(pairs)) {
    const auto parts = graph.items_of(pair, 2, "an item of an OrderedDict");
    items.push_back({parts[0], parts[1]});
  }
  return items;
}

std::vector<Item> state_dict_items(const PickleGraph& graph, NodeId top) {
  auto items = dict_items(graph, top);
  for (int depth = 0; items && depth < kMostNested; ++depth) {
    std::optional<std::vector<Item>> inner;
    for (const std::string_view name : {"state_dict", "model_state_dict", "model", "module"}) {
      for (const Item& item : *items) {
        if (inner || !graph.is_text(item.key) || graph.text(item.key) != name) continue;
        inner = dict_items(graph, item.value);
      }
    }
    if (!inner) return std::move(*items);
    items = std::move(inner);
  }
  throw Error(Code::kBadData, cat("holds ", graph.describe(top), ", not a dict of tensors"), "",
              "save model.state_dict()");
}

std::vector<int64_t> sizes(const PickleGraph& graph, NodeId id, std::string_view tensor) {
  if (!graph.is_sequence(id)) fail_tensor(tensor, cat("its shape is ", graph.describe(id)));
  if (graph.items(id).size() > kMostTorchDimensions) {
    fail_tensor(tensor, cat("has ", graph.items(id).size(), " dimensions"));
  }
  std::vector<int64_t> values;
  for (const NodeId item : graph.items(id)) {
    if (!graph.is(item, NodeKind::kInt) || graph.integer(item) < 0) {
      fail_tensor(tensor, "a size or stride that is negative or not an integer");
    }
    values.push_back(graph.integer(item));
  }
  return values;
}

bool is_tensor(const PickleGraph& graph, NodeId id) {
  return graph.is_made_by(id, Global::kRebuildTensor) ||
         graph.is_made_by(id, Global::kRebuildTensorV2);
}

// _rebuild_tensor_v2(storage, offset, size, stride, requires_grad, hooks[, metadata]);
// _rebuild_tensor ends with the stride.
TorchView read_view(const PickleGraph& graph, NodeId id, std::string_view name) {
  const auto args = graph.items(graph.arguments(id));
  const size_t fewest = graph.is_made_by(id, Global::kRebuildTensor) ? 4 : 6;
  if (args.size() < fewest || args.size() > 7 ||
      !graph.is_made_by(args[0], Global::kTorchPersistent) || !graph.is(args[1], NodeKind::kInt) ||
      graph.integer(args[1]) < 0) {
    fail_tensor(name, "is not made of a storage and an offset");
  }
  TorchView view{.name = std::string(name),
                 .storage = std::string(storage_key(graph, args[0])),
                 .offset = static_cast<uint64_t>(graph.integer(args[1])),
                 .shape = sizes(graph, args[2], name),
                 .stride = sizes(graph, args[3], name)};
  if (view.shape.size() != view.stride.size())
    fail_tensor(name, "has different numbers of sizes and strides");
  return view;
}

// _rebuild_parameter(tensor, requires_grad, hooks)
NodeId tensor_of_parameter(const PickleGraph& graph, NodeId id, std::string_view name) {
  const auto args = graph.items(graph.arguments(id));
  if (args.size() != 3 || !is_tensor(graph, args[0]))
    fail_tensor(name, "is a parameter without a tensor");
  return args[0];
}

// Returns the tensors of the dict `top`, in its order. Training scripts often save a dict that
// contains the state dict as "state_dict", "model_state_dict", "model" or "module" (DeepSpeed);
// then that inner dict is used. Other values, such as numbers and texts, are skipped. Throws
// kBadData if there is no such dict or no tensor, and kCorrupt, naming the tensor, on arguments
// that PyTorch would not write.
std::vector<TorchView> read_state_dict(const PickleGraph& graph, NodeId top) {
  std::vector<TorchView> views;
  std::unordered_set<std::string_view> names;
  for (const Item& item : state_dict_items(graph, top)) {
    NodeId value = item.value;
    const bool is_parameter = graph.is_made_by(value, Global::kRebuildParameter);
    if (!is_parameter && !is_tensor(graph, value)) continue;
    if (!graph.is_text(item.key)) {
      throw Error(Code::kBadData, cat("names a tensor by ", graph.describe(item.key)), "",
                  "save model.state_dict()");
    }
    const std::string_view name = graph.text(item.key);
    if (!names.insert(name).second) fail_tensor(name, "appears twice in the state dict");
    if (is_parameter) value = tensor_of_parameter(graph, value, name);
    if (views.size() == kMostTensors) {
      throw Error(Code::kBadData, cat("holds more than ", kMostTensors, " tensors"));
    }
    views.push_back(read_view(graph, value, name));
  }
  if (views.empty()) throw Error(Code::kBadData, "holds no tensors", "", "save model.state_dict()");
  return views;
}

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
