#include "storage/formats/parquet/values.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "storage/base/text.h"
#include "storage/formats/damage.h"
#include "storage/formats/parquet/thrift_compact.h"

namespace berth::parquet {
namespace {

// The 8 bytes at `offset`, of which those behind the end are 0.
uint64_t word_at(Bytes bytes, size_t offset) {
  uint64_t word = 0;
  if (offset < bytes.size()) {
    std::memcpy(&word, bytes.data() + offset, std::min<size_t>(8, bytes.size() - offset));
  }
  return word;
}

}  // namespace

BitReader::BitReader(Bytes bytes, int bit_width) : bytes_(bytes), bit_width_(bit_width) {
  if (bit_width < 0 || bit_width > 64) Cursor(bytes).fail(cat(bit_width, " bits a number"));
}

uint64_t BitReader::next() {
  if (bit_width_ == 0) return 0;
  const uint64_t width = static_cast<uint64_t>(bit_width_);
  if (bit_ + width > bytes_.size() * 8) Cursor({}).fail("packed numbers end too early");
  const size_t offset = bit_ / 8;
  const uint64_t shift = bit_ % 8;
  uint64_t value = word_at(bytes_, offset) >> shift;
  if (shift + width > 64) value |= word_at(bytes_, offset + 8) << (64 - shift);
  bit_ += width;
  return width == 64 ? value : value & ((uint64_t{1} << width) - 1);
}

HybridDecoder::HybridDecoder(Bytes bytes, int bit_width) : cursor_(bytes), bit_width_(bit_width) {
  if (bit_width < 0 || bit_width > 32) cursor_.fail(cat(bit_width, " bits a number"));
}

void HybridDecoder::read_header() {
  const uint64_t header = cursor_.varint();
  if (header % 2 == 0) {
    run_ = header / 2;
    run_value_ = 0;
    for (int byte = 0; byte < (bit_width_ + 7) / 8; ++byte) {
      run_value_ |= uint32_t{cursor_.u8()} << (8 * byte);
    }
  } else {
    packed_ = header / 2;
    if (packed_ > UINT64_MAX / 8) cursor_.fail("a run of too many values");
    packed_ *= 8;
  }
}

void HybridDecoder::unpack(uint64_t count) {
  // The last group may be cut short behind the last value that it needs to hold.
  const uint64_t bytes =
      std::min<uint64_t>(count * static_cast<uint64_t>(bit_width_) / 8, cursor_.remaining());
  const uint64_t whole = bit_width_ == 0 ? count : bytes * 8 / static_cast<uint64_t>(bit_width_);
  BitReader bits(cursor_.take(bytes), bit_width_);
  filled_ = static_cast<size_t>(std::min(count, whole));
  if (filled_ == 0) cursor_.fail("packed numbers end too early");
  for (size_t i = 0; i < filled_; ++i) values_[i] = static_cast<uint32_t>(bits.next());
}

void HybridDecoder::fill() {
  while (run_ == 0 && packed_ == 0) read_header();
  place_ = 0;
  if (run_ > 0) {
    filled_ = static_cast<size_t>(std::min<uint64_t>(run_, kBuffered));
    std::fill_n(values_, filled_, run_value_);
    run_ -= filled_;
    return;
  }
  const uint64_t count = std::min<uint64_t>(packed_, kBuffered);  // a multiple of 8
  unpack(count);
  packed_ -= count;
}

DeltaDecoder::DeltaDecoder(Bytes bytes) : cursor_(bytes) {
  const uint64_t block = cursor_.varint();
  miniblocks_ = cursor_.varint();
  count_ = cursor_.varint();
  last_ = static_cast<uint64_t>(from_zigzag(cursor_.varint()));
  constexpr uint64_t kLargestBlock = uint64_t{1} << 31;
  if (block == 0 || block > kLargestBlock || miniblocks_ == 0 || block % miniblocks_ != 0 ||
      block / miniblocks_ % 8 != 0) {
    cursor_.fail(cat("blocks of ", block, " numbers in ", miniblocks_, " parts"));
  }
  in_miniblock_ = block / miniblocks_;
}

void DeltaDecoder::next_miniblock() {
  if (widths_.empty()) {
    smallest_ = static_cast<uint64_t>(from_zigzag(cursor_.varint()));
    widths_ = cursor_.take(miniblocks_);
  }
  const int bit_width = std::to_integer<int>(widths_.front());
  widths_ = widths_.subspan(1);
  if (bit_width > 64) cursor_.fail(cat(bit_width, " bits a number"));
  deltas_ =
      BitReader(cursor_.take(in_miniblock_ / 8 * static_cast<uint64_t>(bit_width)), bit_width);
  left_ = in_miniblock_;
}

int64_t DeltaDecoder::next() {
  if (read_ == count_) cursor_.fail(cat("more than ", count_, " numbers are asked for"));
  if (read_++ > 0) {
    if (left_ == 0) next_miniblock();
    --left_;
    last_ += smallest_ + deltas_.next();
  }
  return static_cast<int64_t>(last_);
}

size_t DeltaDecoder::skip_to_end() {
  while (read_ < count_) next();
  return cursor_.offset();
}

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
