#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/base/bytes.h"
#include "storage/base/checksum.h"
#include "storage/formats/tensor_bundle/table.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

using testing::ElementsAre;

using Entries = std::vector<std::pair<std::string, std::string>>;

Entries entries_of(Bytes file) {
  Entries entries;
  read_table(file,
             [&](std::string_view key, Bytes value) { entries.emplace_back(key, as_text(value)); });
  return entries;
}

std::string varint(uint64_t value) {
  std::string text;
  for (; value >= 0x80; value >>= 7) text += static_cast<char>((value & 0x7F) | 0x80);
  return text + static_cast<char>(value);
}

std::string fixed32(uint32_t value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string entry(size_t shared, const std::string& rest, const std::string& value) {
  return varint(shared) + varint(rest.size()) + varint(value.size()) + rest + value;
}

const std::string kNoRestarts = fixed32(0);

// A table that the test writes block by block.
class HandMadeTable : public testing::Test {
 protected:
  struct Handle {
    uint64_t offset, size;
    std::string text() const { return varint(offset) + varint(size); }
  };

  Handle block(const std::string& content, char type = 0) {
    const Handle handle{file_.size(), content.size()};
    const std::string covered = content + type;
    file_ += covered + fixed32(crc32c_mask(crc32c(as_bytes(covered))));
    return handle;
  }

  Entries read(const std::vector<Handle>& data) {
    const Handle metaindex = block(kNoRestarts);
    std::string index;
    for (size_t i = 0; i < data.size(); ++i) {
      index += entry(0, std::string(1, static_cast<char>('m' + i)), data[i].text());
    }
    const Handle index_block = block(index + kNoRestarts);
    std::string footer = metaindex.text() + index_block.text();
    footer.resize(kTableHandlesSize);
    file_ += footer;
    file_ += std::string(reinterpret_cast<const char*>(&kTableMagic), sizeof kTableMagic);
    return entries_of(as_bytes(file_));
  }

  std::string file_;
};

TEST_F(HandMadeTable, SharesTheFrontsOfKeys) {
  const Handle data = block(entry(0, "abc", "1") + entry(2, "d", "2") + kNoRestarts);
  EXPECT_EQ(read({data}), (Entries{{"abc", "1"}, {"abd", "2"}}));
}

TEST_F(HandMadeTable, MayHaveSnappyBlocks) {
  const std::string content = entry(0, "a", std::string(40, 'x')) + kNoRestarts;
  const std::string literal =
      varint(content.size()) + static_cast<char>((content.size() - 1) << 2) + content;
  EXPECT_EQ(read({block(literal, 1)}), (Entries{{"a", std::string(40, 'x')}}));
}

TEST_F(HandMadeTable, RefusesOtherCompression) {
  EXPECT_THAT([&] { read({block(kNoRestarts, 2)}); },
              ThrowsCode(Code::kCorrupt, "block at byte 0: compression type 2"));
}

TEST_F(HandMadeTable, RefusesKeysOutOfOrder) {
  const Handle data = block(entry(0, "b", "") + entry(0, "a", "") + kNoRestarts);
  EXPECT_THAT([&] { read({data}); }, ThrowsCode(Code::kCorrupt, "key \"a\" after \"b\""));
}

TEST_F(HandMadeTable, RefusesAKeyThatSharesMoreThanTheLastKey) {
  const Handle data = block(entry(0, "a", "") + entry(2, "b", "") + kNoRestarts);
  EXPECT_THAT([&] { read({data}); }, ThrowsCode(Code::kCorrupt, "shares 2 bytes with one of 1"));
}

TEST_F(HandMadeTable, RefusesEntriesThatLeaveTheirBlock) {
  const Handle data = block(varint(0) + varint(1) + varint(100) + "a" + kNoRestarts);
  EXPECT_THAT([&] { read({data}); }, ThrowsCode(Code::kCorrupt, "block at byte 0: byte 4"));
}

TEST_F(HandMadeTable, RefusesMoreRestartsThanBytes) {
  EXPECT_THAT([&] { read({block(fixed32(0x40000000))}); },
              ThrowsCode(Code::kCorrupt, "1073741824 restart points"));
  file_.clear();
  EXPECT_THAT([&] { read({block("abc")}); }, ThrowsCode(Code::kCorrupt, "restart points"));
}

TEST_F(HandMadeTable, RefusesBlocksOutsideTheFile) {
  for (const Handle handle : {Handle{0, UINT64_MAX}, Handle{UINT64_MAX, 1}, Handle{1 << 20, 0}}) {
    file_.clear();
    EXPECT_THAT([&] { read({handle}); }, ThrowsCode(Code::kCorrupt, "reaches to byte"));
  }
}

TEST_F(HandMadeTable, RefusesADuplicateBlock) {
  const Handle data = block(kNoRestarts);
  EXPECT_THAT([&] { read({data, data}); }, ThrowsCode(Code::kCorrupt, "before the one before it"));
}

TEST_F(HandMadeTable, RefusesKeysOfAbsurdLength) {
  const Handle data = block(entry(0, std::string(20000, 'a'), "") + kNoRestarts);
  EXPECT_THAT([&] { read({data}); }, ThrowsCode(Code::kCorrupt, "more than 16384 bytes"));
}

TEST_F(HandMadeTable, RefusesKeysThatAddUpToMuch) {
  std::string content = entry(0, std::string(16000, 'a'), "");
  for (int i = 0; i < 9000; ++i) {
    std::string rest = {static_cast<char>(1 + i / 100), static_cast<char>(1 + i % 100)};
    content += entry(16000, rest, "");
  }
  EXPECT_THAT([&] { read({block(content + kNoRestarts)}); },
              ThrowsCode(Code::kMemory, "128.0 MiB of names"));
}

TEST_F(HandMadeTable, RefusesADecompressionBomb) {
  std::string bomb = varint(uint64_t{1} << 31);
  for (int i = 0; i < 1000; ++i) bomb += std::string("\xFE\1\0", 3);
  EXPECT_THAT([&] { read({block(bomb, 1)}); }, ThrowsCode(Code::kCorrupt, "claim to hold"));
}

TEST(Table, TellsAnotherFileByItsMagic) {
  const std::string text(100, 'x');
  EXPECT_THAT([&] { entries_of(as_bytes(text)); }, ThrowsCode(Code::kCorrupt, "magic number"));
  EXPECT_THAT([&] { entries_of({}); }, ThrowsCode(Code::kCorrupt, "0 bytes"));
}

TEST(Table, IsWrittenWithARestartEverySixteenKeys) {
  MemorySink sink;
  TableWriter writer(sink);
  Entries expected;
  for (int i = 100; i < 140; ++i) {
    expected.emplace_back("key" + std::to_string(i), std::to_string(i * i));
    writer.add(expected.back().first, as_bytes(expected.back().second));
  }
  writer.finish();
  EXPECT_EQ(entries_of(sink.written), expected);
  const std::string_view file = as_text(sink.written);
  size_t whole_keys = 0;
  for (size_t at = 0; (at = file.find("key1", at)) != std::string_view::npos; ++at) ++whole_keys;
  EXPECT_EQ(whole_keys, 3u);
}

}  // namespace
}  // namespace berth
