#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/base/checksum.h"
#include "storage/base/text.h"
#include "storage/formats/tensor_bundle/bundle_entry.h"
#include "storage/formats/tensor_bundle/table.h"
#include "tests/support/bundle_files.h"
#include "tests/support/throws_code.h"

// Files whose checksums are correct and whose contents are wrong on purpose.
namespace berth {
namespace {

using testing::ElementsAre;

constexpr int kFloat = 1, kString = 7;

// Builds the message of one entry, field by field.
struct Entry {
  ProtoWriter message, shape;

  Entry& type(int value) { return message.varint(1, static_cast<uint64_t>(value)), *this; }
  Entry& dim(int64_t size) {
    ProtoWriter dim;
    dim.int64(1, size);
    return shape.message(2, dim), *this;
  }
  Entry& shard(int64_t value) { return message.int64(3, value), *this; }
  Entry& at(uint64_t offset, uint64_t size) {
    message.varint(4, offset);
    return message.varint(5, size), *this;
  }
  Entry& crc(Bytes data) { return message.fixed32(6, crc32c_mask(crc32c(data))), *this; }
  Entry& slice(std::vector<std::pair<int64_t, int64_t>> extents) {
    ProtoWriter slice;
    for (const auto& [start, length] : extents) {
      ProtoWriter extent;
      extent.int64(1, start);
      extent.int64(2, length);
      slice.message(1, extent);
    }
    return message.message(7, slice), *this;
  }
  std::vector<std::byte> bytes() const {
    ProtoWriter whole = message;
    whole.message(2, shape);
    return whole.take();
  }
};

class HostileBundle : public testing::Test {
 protected:
  HostileBundle() { header_.varint(1, 1); }

  void add(const std::string& key, const Entry& entry) { entries_[key] = entry.bytes(); }

  TensorBundleReader read(Verification verification = Verification::kAtOnce) {
    MemorySink sink;
    TableWriter table(sink);
    table.add("", header_.written());
    for (const auto& [key, value] : entries_) table.add(key, value);
    table.finish();
    return TensorBundleReader(
        TensorBundleIndex(sink.written), [this](int32_t) { return as_bytes(data_); }, nullptr,
        verification);
  }

  ProtoWriter header_;
  std::map<std::string, std::vector<std::byte>> entries_;
  std::string data_ = "12345678";
};

TEST_F(HostileBundle, RefusesBigEndianData) {
  header_.varint(2, 1);
  EXPECT_THAT([&] { read(); }, ThrowsCode(Code::kBadData, "big-endian"));
}

TEST_F(HostileBundle, RefusesALaterVersion) {
  ProtoWriter version;
  version.varint(2, 2);
  header_.message(3, version);
  EXPECT_THAT([&] { read(); }, ThrowsCode(Code::kBadData, "version 2"));
}

TEST_F(HostileBundle, RefusesAVersionThatRefusesIt) {
  for (const bool packed : {true, false}) {
    header_ = {};
    header_.varint(1, 1);
    ProtoWriter version;
    const std::byte one{1};
    packed ? version.bytes(3, Bytes(&one, 1)) : version.varint(3, 1);
    header_.message(3, version);
    EXPECT_THAT([&] { read(); }, ThrowsCode(Code::kBadData, "refuses"));
  }
}

TEST_F(HostileBundle, RefusesShardsThatDoNotExist) {
  add("w", Entry().type(kFloat).dim(1).shard(1).at(0, 4));
  EXPECT_THAT([&] { read(); }, ThrowsCode(Code::kCorrupt, "\"w\": lies in shard 1 of 1"));
  add("w", Entry().type(kFloat).dim(1).shard(-1).at(0, 4));
  EXPECT_THAT([&] { read(); }, ThrowsCode(Code::kCorrupt, "\"w\""));
  header_.varint(1, 0);
  EXPECT_THAT([&] { read(); }, ThrowsCode(Code::kCorrupt, "no shards"));
  header_.varint(1, 2'000'000'000);
  entries_.clear();
  EXPECT_THAT([&] { read(); }, ThrowsCode(Code::kCorrupt, "2000000000 shards"));
}

TEST_F(HostileBundle, RefusesASizeThatDoesNotFitTheShape) {
  add("w", Entry().type(kFloat).dim(2).at(0, 4));
  EXPECT_THAT([&] { read(); }, ThrowsCode(Code::kCorrupt, "has 4 bytes, but its shape needs 8"));
}

TEST_F(HostileBundle, RefusesShapesThatOverflow) {
  for (const auto& dims : std::vector<std::vector<int64_t>>{
           {int64_t{1} << 62}, {int64_t{1} << 32, int64_t{1} << 32}, {INT64_MAX, 2}}) {
    Entry entry;
    for (const int64_t size : dims) entry.dim(size);
    add("w", entry.type(kFloat).at(0, 0));
    EXPECT_THAT([&] { read(); }, ThrowsCode(Code::kCorrupt, "\"w\": "));
  }
  add("w", Entry().type(kFloat).dim(-1).at(0, 0));
  EXPECT_THAT([&] { read(); }, ThrowsCode(Code::kBadData, "\"w\": its shape"));
}

TEST_F(HostileBundle, RefusesBytesOutsideTheShard) {
  for (const uint64_t offset : {uint64_t{5}, uint64_t{1} << 40, UINT64_MAX, UINT64_MAX - 3}) {
    add("w", Entry().type(kFloat).dim(1).at(offset, 4));
    EXPECT_THAT([&] { read(); }, ThrowsCode(Code::kCorrupt, "of shard 0, which has 8")) << offset;
  }
}

TEST_F(HostileBundle, RefusesTensorsThatOverlap) {
  const Bytes data = as_bytes(data_);
  add("v", Entry().type(kFloat).dim(1).at(0, 4).crc(data.first(4)));
  add("w", Entry().type(kFloat).dim(1).at(3, 4).crc(data.subspan(3, 4)));
  EXPECT_THAT([&] { read(); },
              ThrowsCode(Code::kCorrupt, "\"w\": begins at byte 3 of shard 0, inside \"v\""));
}

TEST_F(HostileBundle, AllowsGapsForAlignment) {
  const Bytes data = as_bytes(data_);
  add("w", Entry().type(kFloat).dim(1).at(4, 4).crc(data.subspan(4)));
  EXPECT_EQ(read().tensors().size(), 1u);
}

TEST_F(HostileBundle, RefusesUnknownTypes) {
  for (const int type : {0, 24, 101, 1000}) {
    add("w", Entry().type(type).dim(1).at(0, 4));
    EXPECT_THAT([&] { read(); }, ThrowsCode(Code::kCorrupt, cat("type ", type))) << type;
  }
}

TEST_F(HostileBundle, RefusesAChecksumThatDoesNotMatch) {
  add("w", Entry().type(kFloat).dim(1).at(0, 4).crc(as_bytes("other")));
  EXPECT_THAT([&] { read(); }, ThrowsCode(Code::kCorrupt, "\"w\": the checksum of its 4 bytes"));
}

TEST_F(HostileBundle, ChecksOnlyInVerifyIfAskedTo) {
  add("v", Entry().type(kFloat).dim(1).at(4, 4));
  add("w", Entry().type(kFloat).dim(1).at(0, 4).crc(as_bytes("other")));
  const TensorBundleReader reader = read(Verification::kLater);
  EXPECT_EQ(reader.tensors().size(), 2u);
  EXPECT_THAT([&] { reader.verify(); },
              ThrowsCode(Code::kCorrupt, "tensor \"w\": the checksum of its 4 bytes"));
  // The reader leaves out tensors of this type, and still verifies them.
  add("w", Entry().type(101).dim(1).at(0, 4).crc(as_bytes("other")));
  EXPECT_THAT([&] { read(Verification::kLater).verify(); }, ThrowsCode(Code::kCorrupt, "\"w\""));
}

TEST_F(HostileBundle, RefusesStringsOfAnotherChecksumAlways) {
  data_ = std::string("\1aaaaa", 6);
  add("s", Entry().type(kString).dim(1).at(0, 6).crc(as_bytes("other")));
  EXPECT_THAT([&] { read(Verification::kLater); }, ThrowsCode(Code::kCorrupt, "\"s\": "));
}

TEST_F(HostileBundle, RefusesMoreStringsThanBytes) {
  add("s", Entry().type(kString).dim(int64_t{1} << 40).at(0, 8));
  EXPECT_THAT([&] { read(); }, ThrowsCode(Code::kCorrupt, "\"s\": sizes of 1099511627776"));
}

TEST_F(HostileBundle, RefusesSlicesThatAreMissing) {
  add("w", Entry().type(kFloat).dim(2).slice({{0, 1}}).slice({{1, 1}}));
  add(slice_key("w", {{.start = 0, .length = 1}}),
      Entry().type(kFloat).dim(1).at(0, 4).crc(as_bytes(data_).first(4)));
  EXPECT_THAT([&] { read(); }, ThrowsCode(Code::kCorrupt, "\"w\": slice 1 of 2 is missing"));
}

class HostileSlices : public HostileBundle {
 protected:
  // Adds a vector of `size` floats. Its slices have one float each and claim to begin at `starts`.
  void add_vector(int64_t size, const std::vector<int64_t>& starts) {
    Entry whole;
    whole.type(kFloat).dim(size);
    for (size_t i = 0; i < starts.size(); ++i) {
      whole.slice({{starts[i], 1}});
      add(slice_key("w", {{.start = starts[i], .length = 1}}),
          Entry().type(kFloat).dim(1).at(4 * i, 4).crc(as_bytes(data_).subspan(4 * i, 4)));
    }
    add("w", whole);
  }
};

TEST_F(HostileSlices, AreAcceptedIfTheyTileTheTensor) {
  add_vector(2, {1, 0});
  const TensorBundleReader reader = read();
  EXPECT_EQ(as_text(reader.find("w")->data), "56781234");
}

TEST_F(HostileSlices, RefuseAHole) {
  add_vector(3, {0, 2});
  EXPECT_THAT([&] { read(); }, ThrowsCode(Code::kCorrupt, "\"w\": the slices have 2 of 3"));
}

TEST_F(HostileSlices, RefuseAnOverlap) {
  Entry whole;
  whole.type(kFloat).dim(2).slice({{0, 2}}).slice({{1, 1}});
  add("w", whole);
  add(slice_key("w", {{.start = 0, .length = 2}}), Entry().type(kFloat).dim(2).at(0, 8));
  add(slice_key("w", {{.start = 1, .length = 1}}), Entry().type(kFloat).dim(1).at(8, 4));
  EXPECT_THAT([&] { read(); }, ThrowsCode(Code::kCorrupt, "slices 0 and 1 overlap"));
}

TEST_F(HostileSlices, RefuseToLeaveTheVariable) {
  for (const int64_t start : {int64_t{2}, int64_t{-1}, INT64_MAX}) {
    entries_.clear();
    add_vector(2, {start});
    EXPECT_THAT([&] { read(); }, ThrowsCode(Code::kCorrupt, "\"w\": slice 0")) << start;
  }
}

TEST_F(HostileSlices, RefuseAHugeVariableBeforeAllocatingIt) {
  add_vector(int64_t{1} << 40, {0, 1});
  EXPECT_THAT([&] { read(); }, ThrowsCode(Code::kCorrupt, "the slices have 2 of 1099511627776"));
}

TEST_F(HostileSlices, RefuseThousandsOfThem) {
  add_vector(2, std::vector<int64_t>(1, 0));
  Entry whole;
  whole.type(kFloat).dim(2000);
  for (int64_t i = 0; i < 1025; ++i) whole.slice({{i, 1}});
  add("w", whole);
  EXPECT_THAT([&] { read(); }, ThrowsCode(Code::kBadData, "more than 1024 slices"));
}

}  // namespace
}  // namespace berth
