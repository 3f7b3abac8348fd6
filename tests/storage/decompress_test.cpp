#include <gtest/gtest.h>

#include "storage/archive.h"
#include "tests/support/every_damage.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

const std::string kText = read_text(BERTH_TESTDATA "/packed/packed.txt");

std::string unpacked(Bytes packed, Compression compression) {
  const auto source = decompress(std::make_unique<MemorySource>(packed), compression);
  return std::string(as_text(read_all(*source, 1 << 20, "test")));
}

std::string unpacked(const std::string& packed, Compression compression) {
  return unpacked(as_bytes(packed), compression);
}

TEST(Compression, IsRecognizedByTheName) {
  EXPECT_EQ(compression_of("a.csv.GZ"), Compression::kGzip);
  EXPECT_EQ(compression_of("a.bz2"), Compression::kBzip2);
  EXPECT_EQ(compression_of("a.xz"), Compression::kXz);
  EXPECT_EQ(compression_of("a.zst"), Compression::kZstd);
  EXPECT_EQ(compression_of("gz"), Compression::kNone);
  EXPECT_EQ(without_compression_suffix("a.csv.gz"), "a.csv");
  EXPECT_EQ(without_compression_suffix("a.csv"), "a.csv");
}

TEST(Compression, NoneLeavesTheBytesAlone) {
  EXPECT_EQ(unpacked(kText, Compression::kNone), kText);
}

TEST(Compression, MustNotHideManyTimesTheSize) {
  const std::string bomb = read_text(BERTH_TESTDATA "/packed/zeros.tar.zst");
  const auto source =
      decompress(std::make_unique<MemorySource>(as_bytes(bomb)), Compression::kZstd);
  std::vector<std::byte> buffer(1 << 20);
  const auto read_to_the_end = [&] {
    while (source->read(buffer) > 0) {
    }
  };
  EXPECT_THAT(read_to_the_end, ThrowsCode(Code::kCorrupt, "200 times its size"));
}

class EveryCompression : public testing::TestWithParam<std::pair<Compression, const char*>> {
 protected:
  const Compression compression_ = GetParam().first;
  const std::string packed_ =
      read_text(std::string(BERTH_TESTDATA "/packed/packed.txt.") + GetParam().second);
};

TEST_P(EveryCompression, UnpacksWhatTheReferenceToolPacked) {
  EXPECT_EQ(unpacked(packed_, compression_), kText);
}

TEST_P(EveryCompression, JoinsMembers) {
  EXPECT_EQ(unpacked(packed_ + packed_, compression_), kText + kText);
}

TEST_P(EveryCompression, EveryPrefixIsRefused) {
  EXPECT_THAT(
      accepted_prefixes(as_bytes(packed_), [&](Bytes bytes) { unpacked(bytes, compression_); }),
      testing::IsEmpty());
}

TEST_P(EveryCompression, AFlippedBitIsRefusedOrHarmless) {
  // Some flips are harmless: the time and the name in gzip's header, and zstd's choice of window.
  accepted_flips(as_bytes(packed_), [&](Bytes bytes) {
    if (unpacked(bytes, compression_) != kText) ADD_FAILURE() << "silently wrong";
  });
}

TEST_P(EveryCompression, RefusesBytesAfterTheLastMember) {
  EXPECT_THAT([&] { unpacked(packed_ + "junk", compression_); }, ThrowsCode(Code::kCorrupt));
}

TEST_P(EveryCompression, RefusesOtherBytes) {
  EXPECT_THAT([&] { unpacked(kText, compression_); }, ThrowsCode(Code::kCorrupt));
  EXPECT_THAT([&] { unpacked("", compression_); }, ThrowsCode(Code::kCorrupt));
}

TEST_P(EveryCompression, PassesOnTheErrorOfItsSource) {
  class Failing final : public ByteSource {
    size_t read(std::span<std::byte>) override { throw Error(Code::kUnavailable, "gone"); }
  };
  EXPECT_THAT(
      [&] {
        std::vector<std::byte> buffer(10);
        decompress(std::make_unique<Failing>(), compression_)->read(buffer);
      },
      ThrowsCode(Code::kUnavailable, "gone"));
}

INSTANTIATE_TEST_SUITE_P(Decompress, EveryCompression,
                         testing::Values(std::pair(Compression::kGzip, "gz"),
                                         std::pair(Compression::kBzip2, "bz2"),
                                         std::pair(Compression::kXz, "xz"),
                                         std::pair(Compression::kZstd, "zst")),
                         [](const auto& each) { return std::string(each.param.second); });

class GzipTest : public testing::Test {
 protected:
  const std::string packed_ = read_text(BERTH_TESTDATA "/packed/packed.txt.gz");
};

TEST_F(GzipTest, IgnoresZeroPaddingAfterTheLastMember) {
  EXPECT_EQ(unpacked(packed_ + std::string(1000, '\0'), Compression::kGzip), kText);
}

TEST_F(GzipTest, RefusesAMemberBehindThePadding) {
  EXPECT_THAT([&] { unpacked(packed_ + std::string(9, '\0') + packed_, Compression::kGzip); },
              ThrowsCode(Code::kCorrupt, "padding"));
}

TEST_F(GzipTest, ComparesChecksumAndLength) {
  for (size_t from_end = 1; from_end <= 8; ++from_end) {
    std::string damaged = packed_;
    damaged[damaged.size() - from_end] ^= 1;
    EXPECT_THAT([&] { unpacked(damaged, Compression::kGzip); },
                ThrowsCode(Code::kCorrupt, from_end <= 4 ? "length check" : "data check"));
  }
}

TEST_F(GzipTest, NamesTheCompressedByte) {
  EXPECT_THAT([&] { unpacked(packed_.substr(0, 30), Compression::kGzip); },
              ThrowsCode(Code::kCorrupt, "compressed byte 30: ends early"));
}

}  // namespace
}  // namespace berth
