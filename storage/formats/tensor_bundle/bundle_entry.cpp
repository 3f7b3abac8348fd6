#include "storage/formats/tensor_bundle/bundle_entry.h"

#include <algorithm>
#include <limits>

#include "storage/base/checksum.h"
#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
namespace {

constexpr int kString = 7, kResource = 20, kVariant = 21;
constexpr int kReadVersion = 1;  // TensorFlow's kTensorBundleMinConsumer and kTensorBundleVersion
constexpr size_t kMostBundleDimensions = 254;
constexpr size_t kMostSlices = 1024;

struct TensorflowType {
  int number;
  std::string_view name;
  std::optional<DType> dtype;
};

// tensorflow/core/framework/types.proto
constexpr TensorflowType kTensorflowTypes[] = {
    {1, "float32", DType::kF32},         {2, "float64", DType::kF64},
    {3, "int32", DType::kI32},           {4, "uint8", DType::kU8},
    {5, "int16", DType::kI16},           {6, "int8", DType::kI8},
    {kString, "string", std::nullopt},   {8, "complex64", std::nullopt},
    {9, "int64", DType::kI64},           {10, "bool", DType::kBool},
    {11, "qint8", std::nullopt},         {12, "quint8", std::nullopt},
    {13, "qint32", std::nullopt},        {14, "bfloat16", DType::kBF16},
    {15, "qint16", std::nullopt},        {16, "quint16", std::nullopt},
    {17, "uint16", DType::kU16},         {18, "complex128", std::nullopt},
    {19, "float16", DType::kF16},        {kResource, "resource", std::nullopt},
    {kVariant, "variant", std::nullopt}, {22, "uint32", DType::kU32},
    {23, "uint64", DType::kU64},
};

const TensorflowType* tensorflow_type_of(int32_t number) {
  const auto found =
      std::find_if(std::begin(kTensorflowTypes), std::end(kTensorflowTypes),
                   [&](const TensorflowType& type) { return type.number == number; });
  return found == std::end(kTensorflowTypes) ? nullptr : found;
}

int32_t as_int32(const ProtoField& field, const char* what) {
  const int64_t value = field.as_int64();
  if (value < 0 || value > std::numeric_limits<int32_t>::max()) {
    throw Error(Code::kCorrupt, cat(what, " is ", value));
  }
  return static_cast<int32_t>(value);
}

int64_t dimension(Bytes message) {
  int64_t size = 0;
  ProtoField field;
  for (ProtoReader reader(message); reader.next(field);) {
    if (field.number == 1) size = field.as_int64();
  }
  if (size < 0) throw Error(Code::kBadData, "its shape is not fully known");
  return size;
}

std::vector<int64_t> parse_shape(Bytes message) {
  std::vector<int64_t> shape;
  ProtoField field;
  for (ProtoReader reader(message); reader.next(field);) {
    if (field.number == 2) shape.push_back(dimension(field.as_bytes()));
    if (field.number == 3 && field.as_varint() != 0) {
      throw Error(Code::kBadData, "its shape is not known");
    }
    if (shape.size() > kMostBundleDimensions) {
      throw Error(Code::kCorrupt, cat("more than ", kMostBundleDimensions, " dimensions"));
    }
  }
  int64_t elements = 1;
  for (const int64_t size : shape) {
    if (__builtin_mul_overflow(elements, size, &elements)) {
      throw Error(Code::kCorrupt, "its shape overflows");
    }
  }
  return shape;
}

SliceExtent parse_extent(Bytes message) {
  SliceExtent extent;
  ProtoField field;
  for (ProtoReader reader(message); reader.next(field);) {
    if (field.number == 1) extent.start = field.as_int64();
    if (field.number == 2) extent.length = field.as_int64();
  }
  return extent;
}

TensorSlice parse_slice(Bytes message) {
  TensorSlice slice;
  ProtoField field;
  for (ProtoReader reader(message); reader.next(field);) {
    if (field.number == 1) slice.push_back(parse_extent(field.as_bytes()));
    if (slice.size() > kMostBundleDimensions) {
      throw Error(Code::kCorrupt,
                  cat("a slice of more than ", kMostBundleDimensions, " dimensions"));
    }
  }
  return slice;
}

void parse_field(const ProtoField& field, BundleEntry& entry) {
  switch (field.number) {
    case 1:
      entry.type = as_int32(field, "its element type");
      break;
    case 2:
      entry.shape = parse_shape(field.as_bytes());
      break;
    case 3:
      entry.shard = as_int32(field, "its shard");
      break;
    case 4:
      entry.offset = field.as_varint();
      break;
    case 5:
      entry.size_bytes = field.as_varint();
      break;
    case 6:
      entry.crc32c = crc32c_unmask(field.as_fixed32());
      break;
    case 7:
      entry.slices.push_back(parse_slice(field.as_bytes()));
      if (entry.slices.size() > kMostSlices) {
        throw Error(Code::kBadData, cat("partitioned into more than ", kMostSlices, " slices"));
      }
      break;
  }
}

// Strings have no fixed element size, and partitioned variables have no data of their own.
void require_size(const BundleEntry& entry) {
  const auto dtype = entry.dtype();
  if (!dtype || !entry.slices.empty()) return;
  uint64_t expected;
  if (__builtin_mul_overflow(static_cast<uint64_t>(entry.elements()), size_of(*dtype), &expected)) {
    throw Error(Code::kCorrupt, "its shape overflows");
  }
  if (entry.size_bytes != expected) {
    throw Error(Code::kCorrupt,
                cat("has ", entry.size_bytes, " bytes, but its shape needs ", expected));
  }
}

void parse_version(Bytes message) {
  int32_t min_consumer = 0;
  ProtoField field;
  for (ProtoReader reader(message); reader.next(field);) {
    if (field.number == 2) min_consumer = as_int32(field, "the reader's least version");
    if (field.number == 3) {
      const auto refused = field.type == WireType::kVarint ? std::vector{field.as_varint()}
                                                           : packed_varints(field.as_bytes());
      if (std::count(refused.begin(), refused.end(), uint64_t{kReadVersion}) != 0) {
        throw Error(Code::kBadData, "it refuses readers of this version");
      }
    }
  }
  if (min_consumer > kReadVersion) {
    throw Error(Code::kBadData, cat("it requires a reader of version ", min_consumer,
                                    ", this one has ", kReadVersion));
  }
}

void parse_header_field(const ProtoField& field, BundleHeader& header) {
  switch (field.number) {
    case 1:
      header.num_shards = as_int32(field, "the number of shards");
      break;
    case 2:
      if (field.as_varint() != 0) {
        throw Error(Code::kBadData, "the checkpoint is big-endian", "",
                    "save it again on a little-endian machine");
      }
      break;
    case 3:
      parse_version(field.as_bytes());
      break;
  }
}

}  // namespace

int64_t BundleEntry::elements() const { return element_count(shape); }

bool BundleEntry::is_string() const { return type == kString; }

bool BundleEntry::is_opaque() const { return type == kResource || type == kVariant; }

std::optional<DType> BundleEntry::dtype() const {
  const TensorflowType* found = tensorflow_type_of(type);
  return found == nullptr ? std::nullopt : found->dtype;
}

std::string_view BundleEntry::type_name() const {
  const TensorflowType* found = tensorflow_type_of(type);
  return found == nullptr ? "unknown" : found->name;
}

BundleHeader parse_bundle_header(Bytes value) try {
  BundleHeader header{.num_shards = 0};
  ProtoField field;
  for (ProtoReader reader(value); reader.next(field);) parse_header_field(field, header);
  if (header.num_shards == 0) throw Error(Code::kCorrupt, "no shards");
  return header;
} catch (const Error& error) {
  throw error.at("header");
}

BundleEntry parse_bundle_entry(std::string_view name, Bytes value) try {
  BundleEntry entry{.name = std::string(name)};
  ProtoField field;
  for (ProtoReader reader(value); reader.next(field);) parse_field(field, entry);
  if (tensorflow_type_of(entry.type) == nullptr) {
    throw Error(Code::kCorrupt, cat("element type ", entry.type, " is unknown to TensorFlow"));
  }
  require_size(entry);
  return entry;
} catch (const Error& error) {
  throw error.at("tensor " + quoted(name));
}

std::vector<std::byte> bundle_header_bytes() {
  ProtoWriter version, header;
  version.varint(1, 1);  // producer
  header.varint(1, 1);   // shards; little-endian is the default
  header.message(3, version);
  return header.take();
}

std::vector<std::byte> bundle_entry_bytes(const BundleEntry& entry) {
  ProtoWriter shape, bytes;
  for (const int64_t size : entry.shape) {
    ProtoWriter dimension;
    if (size != 0) dimension.int64(1, size);
    shape.message(2, dimension);
  }
  bytes.varint(1, static_cast<uint64_t>(entry.type));
  bytes.message(2, shape);
  if (entry.offset != 0) bytes.varint(4, entry.offset);
  if (entry.size_bytes != 0) bytes.varint(5, entry.size_bytes);
  bytes.fixed32(6, crc32c_mask(entry.crc32c));
  return bytes.take();
}

int32_t tensorflow_type(DType dtype) {
  const auto found = std::find_if(std::begin(kTensorflowTypes), std::end(kTensorflowTypes),
                                  [&](const TensorflowType& type) { return type.dtype == dtype; });
  return found->number;
}

namespace {

void append_number(std::string& key, uint64_t value) {
  std::string bytes;
  for (; value != 0; value >>= 8) bytes.insert(bytes.begin(), static_cast<char>(value & 0xFF));
  key += static_cast<char>(bytes.size());
  key += bytes;
}

void append_text(std::string& key, std::string_view text) {
  for (const char c : text) {
    key += c;
    if (c == '\0') key += '\xFF';
    if (c == '\xFF') key += '\0';
  }
  key += '\0';
  key += '\1';
}

void append_signed(std::string& key, int64_t value) {
  constexpr int kLongest = 10;
  const uint64_t magnitude = static_cast<uint64_t>(value < 0 ? ~value : value);
  int size = 1;
  while (size < kLongest && (magnitude >> (7 * size - 1)) != 0) {
    if (7 * ++size - 1 >= 64) break;  // this many bytes hold any 64-bit value
  }
  for (int i = 0; i < size; ++i) {
    const int shift = 8 * (size - 1 - i);
    const auto byte = static_cast<uint8_t>(shift >= 64 ? (value < 0 ? 0xFF : 0) : value >> shift);
    const int inverted = size - 8 * i;  // number of leading bits to invert in this byte
    const uint8_t mask = inverted >= 8  ? 0xFF
                         : inverted > 0 ? static_cast<uint8_t>(0xFF << (8 - inverted))
                                        : 0;
    key += static_cast<char>(byte ^ mask);
  }
}

}  // namespace

std::string slice_key(std::string_view name, const TensorSlice& slice) {
  std::string key;
  append_number(key, 0);
  append_text(key, name);
  append_number(key, slice.size());
  for (const SliceExtent& extent : slice) {
    append_signed(key, extent.start);
    append_signed(key, extent.length.value_or(-1));
  }
  return key;
}

namespace {

constexpr int64_t kMostElements = 1 << 20;

void require_room_for_sizes(Bytes data, int64_t elements) {
  if (static_cast<uint64_t>(elements) > data.size()) {
    throw Error(Code::kCorrupt, cat("sizes of ", elements, " elements in ", data.size(), " bytes"));
  }
}

}  // namespace

uint32_t string_tensor_crc32c(Bytes data, int64_t elements) {
  require_room_for_sizes(data, elements);
  Cursor cursor(data);
  uint32_t crc = 0;
  for (int64_t i = 0; i < elements; ++i) {
    const uint64_t size = cursor.varint();
    const bool is_small = size <= std::numeric_limits<uint32_t>::max();
    crc = crc32c(std::as_bytes(std::span(&size, 1)).first(is_small ? 4 : 8), crc);
  }
  const Bytes checksum = cursor.take(sizeof(uint32_t));
  if (crc32c_unmask(Cursor(checksum).u32()) != crc) {
    cursor.fail("the checksum of the elements' sizes does not match");
  }
  return crc32c(cursor.take(cursor.remaining()), crc32c(checksum, crc));
}

std::vector<std::string_view> string_tensor_elements(Bytes data, int64_t elements) {
  require_room_for_sizes(data, elements);
  if (elements > kMostElements) {
    throw Error(Code::kCorrupt, cat(elements, " strings, more than ", kMostElements));
  }
  Cursor cursor(data);
  std::vector<uint64_t> sizes;
  for (int64_t i = 0; i < elements; ++i) sizes.push_back(cursor.varint());
  cursor.skip(sizeof(uint32_t));
  std::vector<std::string_view> strings;
  for (const uint64_t size : sizes) strings.push_back(as_text(cursor.take(size)));
  if (!cursor.at_end()) cursor.fail(cat(cursor.remaining(), " bytes after the last element"));
  return strings;
}

}  // namespace berth
