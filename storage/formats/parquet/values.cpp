#include "storage/formats/parquet/values.h"

#include <cstring>
#include <string>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/formats/damage.h"
#include "storage/formats/parquet/bit_decoders.h"

namespace berth::parquet {
namespace {

// The bytes that a value of a type takes; 0: as many as it says.
size_t width_of(PhysicalType type, int32_t type_length) {
  switch (type) {
    case PhysicalType::kInt32:
    case PhysicalType::kFloat:
      return 4;
    case PhysicalType::kInt64:
    case PhysicalType::kDouble:
      return 8;
    case PhysicalType::kInt96:
      return 12;
    case PhysicalType::kFixedByteArray:
      return static_cast<size_t>(type_length);
    case PhysicalType::kBoolean:
    case PhysicalType::kByteArray:
      return 0;
  }
  return 0;
}

// Makes a value of the bytes that hold it; both are little-endian.
void read_fixed(PhysicalType type, Bytes bytes, Value& value) {
  const auto bits = [&]<typename T>(T number) {
    std::memcpy(&number, bytes.data(), sizeof(number));
    return number;
  };
  switch (type) {
    case PhysicalType::kInt32:
      value.integer = bits(int32_t{});
      return;
    case PhysicalType::kInt64:
      value.integer = bits(int64_t{});
      return;
    case PhysicalType::kFloat:
      value.real = double{bits(float{})};
      return;
    case PhysicalType::kDouble:
      value.real = bits(double{});
      return;
    default:
      value.bytes = as_text(bytes);
  }
}

class PlainReader final : public ValueReader {
 public:
  PlainReader(PhysicalType type, int32_t type_length, Bytes bytes)
      : type_(type), width_(width_of(type, type_length)), cursor_(bytes) {}

  void next(Value& value) override {
    if (type_ == PhysicalType::kByteArray) {
      value.bytes = as_text(cursor_.take(cursor_.u32()));
    } else {
      read_fixed(type_, cursor_.take(width_), value);
    }
  }

 private:
  const PhysicalType type_;
  const size_t width_;
  Cursor cursor_;
};

class PlainBooleans final : public ValueReader {
 public:
  explicit PlainBooleans(Bytes bytes) : bits_(bytes, 1) {}
  void next(Value& value) override { value.integer = static_cast<int64_t>(bits_.next()); }

 private:
  BitReader bits_;
};

class RunBooleans final : public ValueReader {
 public:
  // The runs follow their size in bytes.
  explicit RunBooleans(Bytes bytes) {
    Cursor cursor(bytes);
    const uint32_t size = cursor.u32();
    bits_ = HybridDecoder(cursor.take(size), 1);
  }
  void next(Value& value) override { value.integer = bits_.next(); }

 private:
  HybridDecoder bits_;
};

class DictionaryReader final : public ValueReader {
 public:
  // The indices follow a byte with their width in bits.
  DictionaryReader(Bytes bytes, const std::vector<Value>& dictionary) : dictionary_(dictionary) {
    if (bytes.empty()) return;  // a page of nulls alone
    indices_ = HybridDecoder(bytes.subspan(1), std::to_integer<int>(bytes.front()));
  }

  void next(Value& value) override {
    const uint32_t index = indices_.next();
    if (index >= dictionary_.size()) {
      fail_damaged(cat("value ", index, " of a dictionary that has ", dictionary_.size()));
    }
    value = dictionary_[index];
  }

 private:
  const std::vector<Value>& dictionary_;
  HybridDecoder indices_;
};

class DeltaIntegers final : public ValueReader {
 public:
  DeltaIntegers(PhysicalType type, Bytes bytes)
      : is_32_(type == PhysicalType::kInt32), deltas_(bytes) {}

  void next(Value& value) override {
    const int64_t number = deltas_.next();
    value.integer = is_32_ ? static_cast<int32_t>(number) : number;
  }

 private:
  const bool is_32_;
  DeltaDecoder deltas_;
};

// Texts whose lengths come first: the lengths as deltas, and the texts one after the other.
class DeltaLengths {
 public:
  explicit DeltaLengths(Bytes bytes)
      : lengths_(bytes), texts_(bytes.subspan(DeltaDecoder(bytes).skip_to_end())) {}

  std::string_view next() {
    const int64_t length = lengths_.next();
    if (length < 0) fail_damaged(cat("a text of ", length, " bytes"));
    return as_text(texts_.take(static_cast<uint64_t>(length)));
  }

 private:
  DeltaDecoder lengths_;
  Cursor texts_;
};

class DeltaLengthTexts final : public ValueReader {
 public:
  explicit DeltaLengthTexts(Bytes bytes) : texts_(bytes) {}
  void next(Value& value) override { value.bytes = texts_.next(); }

 private:
  DeltaLengths texts_;
};

// Each text is the beginning of the text before it, and a suffix. The lengths of the beginnings
// come first, as deltas.
class DeltaTexts final : public ValueReader {
 public:
  explicit DeltaTexts(Bytes bytes)
      : prefixes_(bytes), suffixes_(bytes.subspan(DeltaDecoder(bytes).skip_to_end())) {}

  void next(Value& value) override {
    const int64_t prefix = prefixes_.next();
    if (prefix < 0 || static_cast<uint64_t>(prefix) > text_.size()) {
      fail_damaged(cat("a text that shares ", prefix, " bytes with one of ", text_.size()));
    }
    text_.resize(static_cast<size_t>(prefix));
    text_ += suffixes_.next();
    value.bytes = text_;
  }

 private:
  DeltaDecoder prefixes_;
  DeltaLengths suffixes_;
  std::string text_;
};

// The first bytes of all values, then the second bytes, and so on.
class SplitStreams final : public ValueReader {
 public:
  SplitStreams(PhysicalType type, int32_t type_length, Bytes bytes)
      : type_(type), value_(width_of(type, type_length)), bytes_(bytes) {
    if (value_.empty() || bytes.size() % value_.size() != 0)
      fail_damaged("streams of unequal length");
    count_ = bytes.size() / value_.size();
  }

  void next(Value& value) override {
    if (place_ == count_) fail_damaged("the streams of a page end too early");
    for (size_t byte = 0; byte < value_.size(); ++byte) {
      value_[byte] = bytes_[byte * count_ + place_];
    }
    ++place_;
    read_fixed(type_, value_, value);
  }

 private:
  const PhysicalType type_;
  std::vector<std::byte> value_;
  const Bytes bytes_;
  size_t count_ = 0, place_ = 0;
};

}  // namespace

std::unique_ptr<ValueReader> make_value_reader(Encoding encoding, PhysicalType type,
                                               int32_t type_length, Bytes bytes,
                                               const std::vector<Value>& dictionary) {
  const bool is_integer = type == PhysicalType::kInt32 || type == PhysicalType::kInt64;
  const bool is_text = type == PhysicalType::kByteArray;
  const bool is_boolean = type == PhysicalType::kBoolean;
  switch (encoding) {
    case Encoding::kPlain:
      if (is_boolean) return std::make_unique<PlainBooleans>(bytes);
      return std::make_unique<PlainReader>(type, type_length, bytes);
    case Encoding::kPlainDictionary:
    case Encoding::kRleDictionary:
      return std::make_unique<DictionaryReader>(bytes, dictionary);
    case Encoding::kRle:
      if (is_boolean) return std::make_unique<RunBooleans>(bytes);
      break;
    case Encoding::kDeltaBinaryPacked:
      if (is_integer) return std::make_unique<DeltaIntegers>(type, bytes);
      break;
    case Encoding::kDeltaLengthByteArray:
      if (is_text) return std::make_unique<DeltaLengthTexts>(bytes);
      break;
    case Encoding::kDeltaByteArray:
      if (is_text || type == PhysicalType::kFixedByteArray) {
        return std::make_unique<DeltaTexts>(bytes);
      }
      break;
    case Encoding::kByteStreamSplit:
      if (!is_text && !is_boolean) return std::make_unique<SplitStreams>(type, type_length, bytes);
      break;
    case Encoding::kBitPacked:
      break;
  }
  fail_damaged(
      cat("values of type ", static_cast<int>(type), " in encoding ", static_cast<int>(encoding)));
}

std::vector<Value> read_dictionary(PhysicalType type, int32_t type_length, Bytes bytes,
                                   uint32_t count) {
  // A byte array takes at least four bytes, and any other value the bytes of its type.
  const size_t least = type == PhysicalType::kByteArray ? 4 : width_of(type, type_length);
  if (least == 0 || count > bytes.size() / least)
    fail_damaged(cat("a dictionary of ", count, " values"));
  std::vector<Value> values(count);
  PlainReader reader(type, type_length, bytes);
  for (Value& value : values) reader.next(value);
  return values;
}

}  // namespace berth::parquet
