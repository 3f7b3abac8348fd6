#include "storage/base/checksum.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace berth {
namespace {

TEST(Crc32, HasTheCheckValueOfItsCatalogue) {
  EXPECT_EQ(crc32(as_bytes("123456789")), 0xCBF43926u);
  EXPECT_EQ(crc32({}), 0u);
}

TEST(Crc32, EqualsTheTablesAtEveryLengthAndAlignment) {
  std::string text(600, '\0');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * i * 31 + i);
  for (size_t size = 0; size < 560; ++size) {
    const Bytes bytes = as_bytes(text).subspan(size % 17, size);
    ASSERT_EQ(crc32(bytes), crc32_portable(bytes)) << size;
  }
}

TEST(Crc32, ContinuesFromAnEarlierChecksum) {
  const std::string text(1000, 'x');
  for (const size_t cut : {0, 1, 63, 64, 500, 1000}) {
    EXPECT_EQ(crc32(as_bytes(text).subspan(cut), crc32(as_bytes(text).first(cut))),
              crc32(as_bytes(text)));
  }
}

std::vector<std::byte> counting(size_t size) {
  std::vector<std::byte> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 7 + i / 256);
  return bytes;
}

// The vectors are those of RFC 3720, section B.4.
TEST(Crc32c, MatchesTheVectorsOfRfc3720) {
  std::vector<std::byte> bytes(32, std::byte{0});
  EXPECT_EQ(crc32c(bytes), 0x8A9136AAu);
  bytes.assign(32, std::byte{0xFF});
  EXPECT_EQ(crc32c(bytes), 0x62A8AB43u);
  for (size_t i = 0; i < 32; ++i) bytes[i] = static_cast<std::byte>(i);
  EXPECT_EQ(crc32c(bytes), 0x46DD794Eu);
  for (size_t i = 0; i < 32; ++i) bytes[i] = static_cast<std::byte>(31 - i);
  EXPECT_EQ(crc32c(bytes), 0x113FDB5Cu);
}

TEST(Crc32c, HasTheUsualCheckValue) {
  EXPECT_EQ(crc32c(as_bytes("123456789")), 0xE3069283u);
  EXPECT_EQ(crc32c(as_bytes("")), 0u);
}

// Compares every implementation that this CPU supports with the last one, which uses tables.
TEST(Crc32c, IsTheSameWithEveryInstruction) {
  const std::vector<std::byte> bytes = counting(100003);
  const std::vector<Crc32cFunction> functions = supported_crc32c();
  const auto expect_the_same = [&](size_t begin, size_t size) {
    const Bytes part = Bytes(bytes).subspan(begin, size);
    const uint32_t expected = functions.back()(part, 5);
    for (const Crc32cFunction function : functions) {
      EXPECT_EQ(function(part, 5), expected) << begin << " " << size;
    }
  };
  for (size_t begin = 0; begin < 9; ++begin) {
    for (size_t size = 0; size <= 80; ++size) expect_the_same(begin, size);
    for (size_t blocks = 1; blocks <= 5; ++blocks) {  // blocks of 256 bytes
      for (size_t size = blocks * 256 - 2; size <= blocks * 256 + 2; ++size) {
        expect_the_same(begin, size);
      }
    }
  }
  for (const size_t size : {24575, 24576, 24577, 49152, 49159, 100003}) expect_the_same(0, size);
}

TEST(Crc32c, ContinuesFromAnEarlierChecksum) {
  const std::vector<std::byte> bytes = counting(1000);
  for (size_t cut = 0; cut <= bytes.size(); cut += 37) {
    const uint32_t head = crc32c(Bytes(bytes).first(cut));
    EXPECT_EQ(crc32c(Bytes(bytes).subspan(cut), head), crc32c(bytes));
  }
}

TEST(Crc32c, CombinesChecksumsWithoutTheBytes) {
  const std::vector<std::byte> bytes = counting(70'000);
  for (const size_t cut : {size_t{0}, size_t{1}, size_t{4096}, size_t{69'999}, bytes.size()}) {
    const uint32_t a = crc32c(Bytes(bytes).first(cut));
    const uint32_t b = crc32c(Bytes(bytes).subspan(cut));
    EXPECT_EQ(crc32c_combine(a, b, bytes.size() - cut), crc32c(bytes)) << cut;
  }
}

TEST(Crc32c, CombinesSizesBeyond32Bits) {
  // Combines the checksum of 2^10 zero bytes with itself until it is that of 2^33 zero bytes.
  const std::vector<std::byte> zeros(1024);
  uint32_t crc = crc32c(zeros);
  for (uint64_t size = 1024; size < uint64_t{1} << 33; size *= 2) {
    crc = crc32c_combine(crc, crc, size);
  }
  const uint32_t one = crc32c(as_bytes("1"));
  const uint32_t halves =
      crc32c_combine(crc32c_combine(one, crc, uint64_t{1} << 33), crc, uint64_t{1} << 33);
  const uint32_t whole = crc32c_combine(crc, crc, uint64_t{1} << 33);
  EXPECT_EQ(crc32c_combine(one, whole, uint64_t{1} << 34), halves);
}

TEST(Crc32c, InPartsIsTheSame) {
  std::vector<std::byte> bytes((size_t{25} << 20) + 13);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 31 + (i >> 9));
  EXPECT_EQ(parallel_crc32c(bytes, 7), crc32c(bytes, 7));
  const Bytes few = Bytes(bytes).first(100);
  EXPECT_EQ(parallel_crc32c(few), crc32c(few));
  EXPECT_EQ(parallel_crc32c({}), 0u);
}

TEST(Crc32c, MaskIsUndoneByUnmask) {
  for (const uint32_t crc : {0u, 1u, 0xE3069283u, 0xFFFFFFFFu}) {
    EXPECT_EQ(crc32c_unmask(crc32c_mask(crc)), crc);
    EXPECT_NE(crc32c_mask(crc), crc);
  }
}

}  // namespace
}  // namespace berth
