#include "storage/formats/safetensors.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "storage/base/dtype.h"
#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "storage/base/utf8.h"
#include "storage/formats/damage.h"
#include "storage/formats/tensor_file.h"

namespace berth {
namespace {

// The JSON header of a safetensors file. Nothing in it has been compared with the data yet.
struct SafetensorsEntry {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;   // no size is negative
  uint64_t begin = 0, end = 0;  // byte offsets within the data
};
struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  // in the order of the header; names are unique
  std::map<std::string, std::string> metadata;
};

constexpr size_t kHeaderStart = 8;      // in the file, after the u64 header size
constexpr size_t kMostDimensions = 64;  // PyTorch and NumPy have no more

std::optional<DType> dtype_of(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(DType::kF64); ++i) {
    if (name_of(static_cast<DType>(i)) == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

// The parser calls these functions in document order. It builds no tree and does not recurse.
//   depth 0 {  depth 1 "name": {  depth 2 "dtype": "F32", "shape": [  depth 3 2, 3 ], ... } }
class HeaderHandler final : public nlohmann::json_sax<Json> {
 public:
  SafetensorsHeader header;

  bool start_object(size_t) override {
    if (depth_ == 1) {
      in_metadata_ = key_ == "__metadata__";
      if (!in_metadata_) header.entries.push_back({.name = key_, .shape = {}});
      seen_ = {};
    } else if (depth_ != 0) {
      fail("an unexpected object");
    }
    ++depth_;
    return true;
  }

  bool end_object() override {
    if (--depth_ == 1 && !in_metadata_ && !(seen_.dtype && seen_.shape && seen_.offsets == 2)) {
      fail("lacks its dtype, shape or data_offsets");
    }
    return true;
  }

  bool key(std::string& name) override {
    if (depth_ == 1 && !names_.insert(name).second) {
      throw Error(Code::kCorrupt, "appears twice in the header", cat("tensor ", quoted(name)));
    }
    key_ = std::move(name);
    return true;
  }

  bool string(std::string& text) override {
    if (depth_ == 2 && in_metadata_) {
      if (!header.metadata.emplace(key_, text).second) fail("a metadata key that appears twice");
      return true;
    }
    if (depth_ != 2 || key_ != "dtype" || seen_.dtype) fail("an unexpected string");
    const std::optional<DType> dtype = dtype_of(text);
    if (!dtype) {
      throw Error(Code::kBadData, cat("elements of type ", quoted(text), " are not supported"),
                  where(), "convert the file to F32, BF16 or F16");
    }
    seen_.dtype = true;
    header.entries.back().dtype = *dtype;
    return true;
  }

  bool start_array(size_t) override {
    if (depth_ != 2 || in_metadata_) fail("an unexpected list");
    bool& seen = key_ == "shape" ? seen_.shape : seen_.begun;
    if (seen || (key_ != "shape" && key_ != "data_offsets")) fail("an unexpected list");
    seen = true;
    ++depth_;
    return true;
  }

  bool end_array() override {
    --depth_;
    return true;
  }

  bool number_unsigned(uint64_t number) override {
    if (depth_ != 3) fail("an unexpected number");
    SafetensorsEntry& entry = header.entries.back();
    if (key_ == "shape") {
      if (number > static_cast<uint64_t>(INT64_MAX)) fail("its shape overflows");
      if (entry.shape.size() == kMostDimensions)
        fail(cat("more than ", kMostDimensions, " dimensions"));
      entry.shape.push_back(static_cast<int64_t>(number));
    } else {
      if (seen_.offsets == 2) fail("more than two data_offsets");
      (seen_.offsets++ == 0 ? entry.begin : entry.end) = number;
    }
    return true;
  }

  bool number_integer(int64_t) override { fail("a negative number"); }
  bool number_float(double, const std::string&) override { fail("a fraction"); }
  bool boolean(bool) override { fail("a truth value"); }
  bool null() override { fail("a null"); }
  bool binary(Json::binary_t&) override { fail("binary data"); }

  bool parse_error(size_t position, const std::string&, const Json::exception&) override {
    throw Error(Code::kCorrupt, "the header is not JSON", cat("byte ", kHeaderStart + position - 1),
                "fetch the file again");
  }

 private:
  std::string where() const {
    return header.entries.empty() ? "header" : cat("tensor ", quoted(header.entries.back().name));
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(Code::kCorrupt, what, where(), "fetch the file again");
  }

  struct Seen {
    bool dtype = false, shape = false, begun = false;  // begun: data_offsets
    int offsets = 0;
  };

  int depth_ = 0;
  bool in_metadata_ = false;
  Seen seen_;
  std::string key_;
  std::unordered_set<std::string> names_;
};

// Parses the header. Accepts less than JSON allows: nesting, duplicate keys and values of
// unexpected types are rejected at once. Throws kCorrupt, naming the byte of the file or the
// tensor, and kBadData on an element type that is not supported.
SafetensorsHeader parse_safetensors_header(std::string_view json) {
  if (!json.starts_with('{')) {
    throw Error(Code::kCorrupt, "the header does not begin with {", cat("byte ", kHeaderStart),
                "check that it is a safetensors file");
  }
  // The parser would take a zero byte for the end of the text.
  if (const size_t zero = json.find('\0'); zero != std::string_view::npos) {
    throw Error(Code::kCorrupt, "a zero byte in the header", cat("byte ", kHeaderStart + zero),
                "fetch the file again");
  }
  HeaderHandler handler;
  Json::sax_parse(json.begin(), json.end(), &handler);
  return std::move(handler.header);
}

constexpr uint64_t kLargestHeader = 100'000'000;  // the limit of the reference implementation
constexpr size_t kAlignment = 8;

// Returns elements times element size. Throws kCorrupt if the product overflows.
uint64_t size_of_shape(const SafetensorsEntry& entry) {
  int64_t elements = 1;
  for (const int64_t size : entry.shape) {
    if (__builtin_mul_overflow(elements, size, &elements))
      fail_tensor(entry.name, "its shape overflows");
  }
  int64_t bytes;
  if (__builtin_mul_overflow(elements, static_cast<int64_t>(size_of(entry.dtype)), &bytes)) {
    fail_tensor(entry.name, "its shape overflows");
  }
  return static_cast<uint64_t>(bytes);
}

// The tensors, in file order, must cover the data without holes, overlaps or bytes left at the end.
void require_tiling(const std::vector<SafetensorsEntry>& entries, uint64_t data_size) {
  uint64_t expected = 0;
  for (const SafetensorsEntry& entry : entries) {
    if (entry.begin != expected) {
      fail_tensor(entry.name, cat("begins at byte ", entry.begin, " of the data, not ", expected));
    }
    if (entry.end < entry.begin || entry.end > data_size) {
      fail_tensor(entry.name,
                  cat("ends at byte ", entry.end, " of the data, which has ", data_size));
    }
    if (entry.end - entry.begin != size_of_shape(entry)) {
      fail_tensor(entry.name, cat("has ", entry.end - entry.begin, " bytes, but its shape needs ",
                                  size_of_shape(entry)));
    }
    expected = entry.end;
  }
  if (expected != data_size) {
    throw Error(Code::kCorrupt,
                cat("the tensors end at byte ", expected, " of the data, which has ", data_size),
                "", "fetch the file again");
  }
}

std::string json_text(const std::string& text) {
  if (find_invalid_utf8(text)) {
    throw Error(Code::kInternal, "a tensor name that is not UTF-8", quoted(text));
  }
  return to_text(Json(text));
}

uint64_t size_bytes_of(const NamedTensor& tensor) {
  return static_cast<uint64_t>(tensor.elements()) * size_of(tensor.dtype);
}

void require_size(const NamedTensor& tensor, Bytes bytes) {
  if (bytes.size() == size_bytes_of(tensor)) return;
  throw Error(Code::kInternal, cat("a tensor of ", bytes.size(), " bytes"), quoted(tensor.name));
}

std::string entry_text(const NamedTensor& tensor, uint64_t begin) {
  return cat(json_text(tensor.name), ":{\"dtype\":\"", name_of(tensor.dtype), "\",\"shape\":[",
             joined(tensor.shape, ","), "],\"data_offsets\":[", begin, ",",
             begin + size_bytes_of(tensor), "]}");
}

void write_header(ByteSink& sink, std::span<const NamedTensor> tensors,
                  const std::map<std::string, std::string>& metadata) {
  std::string header = "{";
  if (!metadata.empty()) {
    header += "\"__metadata__\":{";
    for (const auto& [key, value] : metadata) {
      header += cat(header.back() == '{' ? "" : ",", json_text(key), ":", json_text(value));
    }
    header += "}";
  }
  uint64_t offset = 0;
  for (const NamedTensor& tensor : tensors) {
    if (offset % size_of(tensor.dtype) != 0) {
      throw Error(Code::kInternal, cat("a tensor that begins at ", offset), quoted(tensor.name));
    }
    header += cat(header.back() == '{' ? "" : ",", entry_text(tensor, offset));
    offset += size_bytes_of(tensor);
  }
  header += "}";
  header.resize((header.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');

  const uint64_t header_size = header.size();
  sink.write(std::as_bytes(std::span(&header_size, 1)));
  sink.write(as_bytes(header));
}

void write(ByteSink& sink, std::span<const NamedTensor> tensors,
           const std::map<std::string, std::string>& metadata,
           void (ByteSink::*write_tensor)(Bytes)) {
  for (const NamedTensor& tensor : tensors) require_size(tensor, tensor.data);
  write_header(sink, tensors, metadata);
  for (const NamedTensor& tensor : tensors) (sink.*write_tensor)(tensor.data);
}

}  // namespace

namespace {

void require_header_size(uint64_t header_size) {
  if (header_size <= kLargestHeader) return;
  throw Error(Code::kCorrupt,
              cat("a header of ", header_size, " bytes, more than ", kLargestHeader), "byte 0",
              "check that it is a safetensors file");
}

// The header, whose tensors are in the order of their data and cover it.
SafetensorsHeader checked_header(Bytes json, uint64_t data_size) {
  SafetensorsHeader header = parse_safetensors_header(as_text(json));
  std::sort(header.entries.begin(), header.entries.end(), [](const auto& a, const auto& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  require_tiling(header.entries, data_size);
  return header;
}

}  // namespace

std::vector<NamedTensor> read_safetensors_header(ByteSource& source, uint64_t file_size) {
  const auto take = [&](uint64_t size) {
    std::vector<std::byte> bytes(std::min(size, file_size));
    if (bytes.size() < size || read_fully(source, bytes) < size) {
      throw Error(Code::kCorrupt, "ends within its header", "", "fetch the file again");
    }
    file_size -= size;
    return bytes;
  };
  const uint64_t header_size = Cursor(take(kHeaderStart)).u64();
  require_header_size(header_size);
  const std::vector<std::byte> json = take(header_size);
  std::vector<NamedTensor> tensors;
  for (SafetensorsEntry& entry : checked_header(json, file_size).entries) {
    tensors.push_back(
        {.name = std::move(entry.name), .dtype = entry.dtype, .shape = std::move(entry.shape)});
  }
  return tensors;
}

SafetensorsReader::SafetensorsReader(Bytes file) {
  refuse_lfs_pointer(as_text(file));
  Cursor cursor(file);
  const uint64_t header_size = cursor.u64();
  require_header_size(header_size);
  const Bytes json = cursor.take(header_size), data = cursor.take(cursor.remaining());
  SafetensorsHeader header = checked_header(json, data.size());
  tensors_.reserve(header.entries.size());
  for (SafetensorsEntry& entry : header.entries) {
    tensors_.push_back({.name = std::move(entry.name),
                        .dtype = entry.dtype,
                        .shape = std::move(entry.shape),
                        .data = data.subspan(entry.begin, entry.end - entry.begin)});
  }
  metadata_ = std::move(header.metadata);
}

void write_safetensors(ByteSink& sink, std::span<const NamedTensor> tensors,
                       const std::map<std::string, std::string>& metadata) {
  write(sink, tensors, metadata, &ByteSink::write);
}

void lend_safetensors(ByteSink& sink, std::span<const NamedTensor> tensors,
                      const std::map<std::string, std::string>& metadata) {
  write(sink, tensors, metadata, &ByteSink::lend);
}

void write_safetensors(ByteSink& sink, std::span<const NamedTensor> tensors,
                       const std::map<std::string, std::string>& metadata,
                       const std::function<Bytes(size_t)>& bytes_of) {
  write_header(sink, tensors, metadata);
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Bytes bytes = bytes_of(i);
    require_size(tensors[i], bytes);
    sink.write(bytes);
  }
}

void begin_safetensors(ByteSink& sink, std::span<const NamedTensor> tensors,
                       const std::map<std::string, std::string>& metadata) {
  write_header(sink, tensors, metadata);
}

namespace {

bool is_plain_name(std::string_view name) {
  constexpr size_t kLongest = 255;
  return !name.empty() && name.size() <= kLongest && name != "." && name != ".." &&
         std::none_of(name.begin(), name.end(), [](char c) {
           return c == '/' || c == '\\' || static_cast<unsigned char>(c) < ' ';
         });
}

// The parser calls these functions in document order. It builds no tree and does not recurse.
// Everything except "weight_map" is skipped.
class IndexHandler final : public nlohmann::json_sax<Json> {
 public:
  ShardIndex index;
  bool has_map = false;

  bool start_object(size_t) override {
    if (depth_ == 1 && key_ == "weight_map") {
      if (has_map) fail("weight_map", "appears twice");
      has_map = in_map_ = true;
    } else if (depth_ != 0) {
      value();
    }
    ++depth_;
    return true;
  }
  bool end_object() override {
    if (--depth_ == 1) in_map_ = false;
    return true;
  }
  bool start_array(size_t) override {
    value();
    ++depth_;
    return true;
  }
  bool end_array() override {
    --depth_;
    return true;
  }
  bool key(std::string& name) override {
    key_ = std::move(name);
    return true;
  }
  bool string(std::string& file) override {
    if (!in_map_) return value();
    const std::string where = cat("tensor ", quoted(key_));
    if (!is_plain_name(file)) {
      fail(where, cat("its file ", quoted(file), " is not the name of a file beside the index"));
    }
    if (!index.file_of.emplace(key_, file).second) fail(where, "appears twice in the index");
    return true;
  }
  bool number_unsigned(uint64_t) override { return value(); }
  bool number_integer(int64_t) override { return value(); }
  bool number_float(double, const std::string&) override { return value(); }
  bool boolean(bool) override { return value(); }
  bool null() override { return value(); }
  bool binary(Json::binary_t&) override { return value(); }
  bool parse_error(size_t position, const std::string&, const Json::exception&) override {
    fail(cat("byte ", position == 0 ? 0 : position - 1), "the index is not JSON");
  }

 private:
  [[noreturn]] static void fail(const std::string& where, const std::string& what) {
    throw Error(Code::kCorrupt, what, where, kFetchAgain);
  }
  // Handles a value that is not a string within weight_map.
  bool value() const {
    if (in_map_)
      fail(cat("tensor ", quoted(key_)), "is mapped to something other than a file name");
    if (depth_ == 0) fail("byte 0", "the index is not an object");
    if (depth_ == 1 && key_ == "weight_map") fail("weight_map", "is not an object");
    return true;
  }

  int depth_ = 0;
  bool in_map_ = false;
  std::string key_;
};

}  // namespace

std::vector<std::string> ShardIndex::files() const {
  std::set<std::string> names;
  for (const auto& [tensor, file] : file_of) names.insert(file);
  return {names.begin(), names.end()};
}

ShardIndex parse_shard_index(std::string_view json) {
  // The parser would take a zero byte for the end of the text.
  if (const size_t zero = json.find('\0'); zero != std::string_view::npos) {
    throw Error(Code::kCorrupt, "a zero byte in the index", cat("byte ", zero), kFetchAgain);
  }
  IndexHandler handler;
  Json::sax_parse(json.begin(), json.end(), &handler);
  if (handler.index.file_of.empty()) {
    throw Error(Code::kCorrupt,
                handler.has_map ? "its weight_map is empty" : "it has no weight_map", "",
                kFetchAgain);
  }
  return std::move(handler.index);
}

JoinedTensors::JoinedTensors(const ShardIndex& index, std::vector<Shard> shards)
    : shards_(std::move(shards)) {
  std::unordered_map<std::string_view, const Shard*> shard_of;
  for (const Shard& shard : shards_) {
    for (const NamedTensor& tensor : shard.tensors->tensors()) {
      const auto [known, is_new] = shard_of.emplace(tensor.name, &shard);
      if (!is_new) {
        throw Error(Code::kCorrupt,
                    cat("is in ", quoted(known->second->file), " and in ", quoted(shard.file)),
                    cat("tensor ", quoted(tensor.name)), kFetchAgain);
      }
      tensors_.push_back(tensor);
    }
  }
  for (const auto& [tensor, file] : index.file_of) {
    const auto found = shard_of.find(tensor);
    if (found == shard_of.end() || found->second->file != file) {
      throw Error(Code::kCorrupt,
                  cat("is not in ", quoted(file), ", where the index places it",
                      found == shard_of.end() ? "" : cat(", but in ", quoted(found->second->file))),
                  cat("tensor ", quoted(tensor)), kFetchAgain);
    }
  }
}

}  // namespace berth
