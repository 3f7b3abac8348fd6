#include <gtest/gtest.h>

#include <array>

#include "storage/archive.h"
#include "storage/libarchive_reader.h"
#include "tests/support/every_damage.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/tar_bytes.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

namespace fs = std::filesystem;

// Reads every entry and all its data without writing files.
void read_tar(Bytes bytes) {
  MemorySource source(bytes);
  LibarchiveReader reader = LibarchiveReader::tar(source);
  std::array<std::byte, 1024> buffer;
  for (ArchiveEntry entry; reader.next(entry);) {
    while (reader.read(buffer) > 0) {
    }
  }
}

class UnpackTest : public testing::Test {
 protected:
  void unpack_bytes(Bytes bytes, const std::string& name = "a.tar",
                    const UnpackLimits& limits = {}) {
    unpack(std::make_unique<MemorySource>(bytes), name, target_, limits);
  }
  void unpack_text(const std::string& bytes, const std::string& name = "a.tar",
                   const UnpackLimits& limits = {}) {
    unpack_bytes(as_bytes(bytes), name, limits);
  }

  // `bytes` must be refused with `says` in the message, and must leave no files behind.
  void expect_refused(const std::string& bytes, const std::string& says,
                      const UnpackLimits& limits = {}, const std::string& name = "a.tar") {
    EXPECT_THAT([&] { unpack_text(bytes, name, limits); }, ThrowsCode(Code::kCorrupt, says));
    EXPECT_TRUE(fs::is_empty(scratch_.path())) << says;
  }

  std::string content(const std::string& name) { return read_text(target_ / name); }

  ScratchDirectory scratch_;
  const fs::path target_ = scratch_.path() / "unpacked";
};

// pandas' to_pickle("x.pickle.tar.gz") calls the file inside by that name, too.
TEST_F(UnpackTest, AFileNamedAsItsArchiveLosesTheArchivesSuffix) {
  expect_refused(TarBytes().file("a", "x").file("a.tar", "y").end(), "");  // both would be "a"
  unpack_text(TarBytes().file("x.pickle.tar", "one").end(), "x.pickle.tar");
  EXPECT_EQ(read_text(target_ / "x.pickle"), "one");
}

TEST_F(UnpackTest, UnpacksFilesAndDirectories) {
  unpack_text(
      TarBytes().entry("./", '5').entry("./d/", '5').file("./d/e/a", "one").file("b", "").end());
  EXPECT_EQ(content("d/e/a"), "one");
  EXPECT_TRUE(fs::is_regular_file(target_ / "b"));
  EXPECT_EQ(fs::status(target_).permissions(), fs::perms(0700));
  EXPECT_EQ(std::distance(fs::directory_iterator(scratch_.path()), {}),
            1);  // no staging directory is left
}

TEST_F(UnpackTest, UnpacksWhatPythonsTarfilePacked) {
  unpack_text(read_text(BERTH_TESTDATA "/packed/packed.tar.gz"), "packed.tar.gz");
  EXPECT_EQ(content("model/config.json"), "{\"hidden_size\": 128}\n");
  EXPECT_EQ(content("model/vocab-\xC3\xA9.txt"), read_text(BERTH_TESTDATA "/packed/packed.txt"));
}

TEST_F(UnpackTest, UnpacksWhatPythonsZipfilePacked) {
  unpack_text(read_text(BERTH_TESTDATA "/packed/packed.zip"), "packed.ZIP");
  EXPECT_EQ(content("model/config.json"), "{\"hidden_size\": 128}\n");
  EXPECT_EQ(content("model/vocab-\xC3\xA9.txt"), read_text(BERTH_TESTDATA "/packed/packed.txt"));
}

TEST_F(UnpackTest, ArchivesAreRecognizedByTheirNames) {
  for (const char* name :
       {"a.tar", "a.tar.gz", "a.TGZ", "a.tar.bz2", "a.tar.xz", "a.tar.zst", "a.zip"}) {
    EXPECT_TRUE(is_archive(name)) << name;
  }
  for (const char* name : {"a.gz", "tar", "a.tar.lz4", "a.zip.gz", ""}) {
    EXPECT_FALSE(is_archive(name)) << name;
  }
  EXPECT_THAT([&] { unpack_text("", "a.rar"); }, ThrowsCode(Code::kBadData, "a.rar"));
}

TEST_F(UnpackTest, RefusesADirectoryThatExists) {
  fs::create_directory(target_);
  EXPECT_THAT([&] { unpack_text(TarBytes().file("a", "x").end()); },
              ThrowsCode(Code::kUsage, "exists already"));
}

TEST_F(UnpackTest, RefusesPathsThatLeaveTheDirectory) {
  for (const char* name : {"../x", "a/../../x", "a/..", ".."}) {
    expect_refused(TarBytes().file("ok", "x").file(name, "x").end(), "leaves the archive");
  }
  expect_refused(TarBytes().file("/abs", "x").end(), "absolute path");
  expect_refused(TarBytes().file("a\\b", "x").end(), "backslash");
  expect_refused(TarBytes().file("c:x", "x").end(), "drive letter");
  expect_refused(TarBytes().file("a\nb", "x").end(), "control character");
}

TEST_F(UnpackTest, RefusesAllButFilesAndDirectories) {
  expect_refused(TarBytes().entry("out", '2', "/tmp").file("out/x", "x").end(),
                 "is a symbolic link");
  expect_refused(TarBytes().entry("f", '2', "/tmp/f").file("f", "x").end(), "is a symbolic link");
  expect_refused(TarBytes().file("a", "x").entry("b", '1', "a").end(), "is a hard link");
  expect_refused(TarBytes().entry("b", '1', "/etc/passwd").end(), "is a hard link");
  expect_refused(TarBytes().entry("dev", '3').end(), "device");
  expect_refused(TarBytes().entry("dev", '4').end(), "device");
  expect_refused(TarBytes().entry("pipe", '6').end(), "named pipe");
}

TEST_F(UnpackTest, DropsSetuidBits) {
  unpack_text(TarBytes().file("a", "x").end());  // mode 6755 in the archive
  EXPECT_EQ(fs::status(target_ / "a").permissions() & fs::perms(07111), fs::perms::none);
}

TEST_F(UnpackTest, RefusesNamesThatCollide) {
  expect_refused(TarBytes().file("a", "1").file("a", "2").end(), "collides");
  expect_refused(TarBytes().file("a", "1").file("./a", "2").end(), "collides");
  expect_refused(TarBytes().file("Model/a", "1").file("model/b", "2").end(), "collides");
  expect_refused(TarBytes().file("A", "1").file("a", "2").end(), "collides");
  expect_refused(TarBytes().file("a", "1").file("a/b", "2").end(), "collides");
  expect_refused(TarBytes().file("a/b", "1").file("a", "2").end(), "collides");
  unpack_text(TarBytes().entry("a/", '5').entry("a/", '5').file("a/b", "1").end());
}

TEST_F(UnpackTest, RefusesSparseFiles) {
  expect_refused(TarBytes().sparse("bomb", uint64_t{1} << 40, "end").end(), "more than");
  expect_refused(TarBytes().sparse("holey", 1 << 20, "end").end(), "sparse");
  expect_refused(TarBytes().sparse("hole", 1 << 20, "").end(), "a");
}

TEST_F(UnpackTest, RefusesATarThatIsCut) {
  const std::string whole = TarBytes().file("a", "one").file("b", std::string(600, '\0')).end();
  expect_refused(whole.substr(0, 1024), "ends early");  // ends exactly after a member
  expect_refused(TarBytes().file("a", "one").file("b", std::string(1024, '\0')).without_end(),
                 "ends early");  // zeros inside of data do not end an archive
  // An archive ends with two blocks of zeros. The second one may be missing.
  EXPECT_GE(accepted_prefixes(as_bytes(whole), read_tar).front(), whole.size() - 512);
}

TEST_F(UnpackTest, RefusesEmptyAndForeignFiles) {
  expect_refused("", "a.tar");
  expect_refused("hello", "a.tar");
  expect_refused("", "a.zip", {}, "a.zip");
  expect_refused(TarBytes().file("a", "x").end(), "a.zip", {}, "a.zip");
}

TEST_F(UnpackTest, ReadsToTheEndAndRefusesWhatFollowsTheArchive) {
  const std::string one = TarBytes().file("a", "x").end();
  expect_refused(one + TarBytes().file("b", "x").end(), "after the end");
  expect_refused(one + std::string(1 << 20, 'x'), "after the end");
  expect_refused(one + std::string(1 << 20, '\0') + "x", "after the end");
  unpack_text(one + std::string(1 << 20, '\0'));
  EXPECT_EQ(content("a"), "x");
}

TEST_F(UnpackTest, ComparesTheChecksumOfACompressedTar) {
  std::string packed = read_text(BERTH_TESTDATA "/packed/packed.tar.gz");
  expect_refused(packed.substr(0, packed.size() - 8), "ends early", {}, "a.tar.gz");
  expect_refused(packed + "junk", "after the last gzip member", {}, "a.tar.gz");
  packed[packed.size() - 8] ^= 1;
  expect_refused(packed, "data check", {}, "a.tar.gz");
}

TEST_F(UnpackTest, RefusesBytesAroundAZip) {
  const std::string zip = read_text(BERTH_TESTDATA "/packed/packed.zip");
  expect_refused(zip + "x", "before or after", {}, "a.zip");
  expect_refused(zip + std::string(400, '\0'), "before or after", {}, "a.zip");
  expect_refused("x" + zip, "before or after", {}, "a.zip");
}

TEST_F(UnpackTest, ObeysItsLimits) {
  const std::string tar = TarBytes().file("a", "x").file("b", std::string(5000, 'x')).end();
  expect_refused(tar, "more than 1 entries", {.entries = 1});
  expect_refused(tar, "more than 4.0 KiB", {.total_bytes = 4096});
  const std::string zip = read_text(BERTH_TESTDATA "/packed/packed.zip");
  expect_refused(zip, "more than 1 entries", {.entries = 1}, "a.zip");
  expect_refused(zip, "more than 1000 B", {.total_bytes = 1000}, "a.zip");
  unpack_text(tar, "a.tar", {.entries = 2, .total_bytes = 8192});
}

TEST_F(UnpackTest, RefusesABomb) {
  const std::string bomb = read_text(BERTH_TESTDATA "/packed/zeros.tar.zst");
  expect_refused(bomb, "200 times its size", {}, "zeros.tar.zst");
  unpack_text(bomb, "zeros.tar.zst", {.ratio = 100'000});
  EXPECT_EQ(fs::file_size(target_ / "zeros"), 80u << 20);
}

TEST_F(UnpackTest, SurvivesEveryFlippedBitOfATarsHeaders) {
  const std::string tar =
      TarBytes().file("a", "one").sparse("b", 1024, "x").entry("c", '2', "a").end();
  accepted_flips(as_bytes(tar).first(3 * 512), read_tar);
}

TEST_F(UnpackTest, RefusesAMemberThatClaimsMoreThanThereIs) {
  expect_refused(TarBytes().header("a", '0', uint64_t{1} << 32, "").raw("x").without_end(), "a");
  expect_refused(TarBytes().header("a", '0', uint64_t{1} << 37, "").raw("x").without_end(), "a");
}

TEST_F(UnpackTest, RefusesACutZip) {
  const std::string zip = read_text(BERTH_TESTDATA "/packed/packed.zip");
  const auto accepted = accepted_prefixes(as_bytes(zip), [&](Bytes bytes) {
    fs::remove_all(target_);
    unpack_bytes(bytes, "a.zip");
  });
  EXPECT_THAT(accepted, testing::IsEmpty());
}

TEST_F(UnpackTest, AFlippedByteOfAZipNeverChangesWhatIsUnpacked) {
  std::string zip = read_text(BERTH_TESTDATA "/packed/packed.zip");
  const std::string text = read_text(BERTH_TESTDATA "/packed/packed.txt");
  for (char& byte : zip) {
    fs::remove_all(target_);
    byte ^= 0x10;
    try {
      unpack_text(zip, "a.zip");
      if (fs::exists(target_ / "model/vocab-\xC3\xA9.txt")) {
        EXPECT_EQ(content("model/vocab-\xC3\xA9.txt"), text);
      }
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kCorrupt) << error.what();
    }
    byte ^= 0x10;
  }
}

TEST_F(UnpackTest, PassesOnTheErrorOfItsSource) {
  class Failing final : public ByteSource {
   public:
    size_t read(std::span<std::byte> buffer) override {
      if (std::exchange(failed_, true)) throw Error(Code::kUnavailable, "gone");
      const std::string start = TarBytes().header("a", '0', 10'000, "").without_end();
      return MemorySource(as_bytes(start)).read(buffer);
    }

   private:
    bool failed_ = false;
  };
  EXPECT_THAT([&] { unpack(std::make_unique<Failing>(), "a.tar", target_); },
              ThrowsCode(Code::kUnavailable, "gone"));
  EXPECT_TRUE(fs::is_empty(scratch_.path()));
}

}  // namespace
}  // namespace berth
