#include "trainer/xla/pjrt/executable_cache.h"

#include <algorithm>
#include <filesystem>

#include "tests/support/captured_log.h"
#include "tests/support/scratch_directory.h"
#include "tests/trainer/xla/pjrt/fake_plugin_fixture.h"

namespace berth {
namespace {

struct ExecutableCacheTest : WithFakePlugin {
  PjrtPlugin plugin{BERTH_FAKE_PLUGIN};
  PjrtClient client{plugin};
  ScratchDirectory scratch;
  std::string folder = scratch / "a/cache";
  ExecutableCache cache{folder};
  CapturedLog log;

  std::string path() const { return cache.entry_path(client, "copy outputs=3", {}); }
  int compilations() const { return control->calls["Client_Compile"]; }
};

TEST_F(ExecutableCacheTest, CompilesOnce) {
  EXPECT_EQ(cache.compile(client, "copy outputs=3").outputs(), 3u);
  EXPECT_EQ(cache.compile(client, "copy outputs=3").outputs(), 3u);
  EXPECT_EQ(ExecutableCache(folder).compile(client, "copy outputs=3").outputs(), 3u);
  EXPECT_EQ(compilations(), 1);
  EXPECT_EQ(log.lines(), "");
}

TEST_F(ExecutableCacheTest, LeavesOneFilePerProgram) {
  cache.compile(client, "copy");
  cache.compile(client, "copy", {.replicas = 2});
  cache.compile(client, "donate");
  size_t files = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    EXPECT_EQ(file.path().extension(), ".xla");
    ++files;
  }
  EXPECT_EQ(files, 3u);
}

TEST_F(ExecutableCacheTest, EverythingThatDecidesTheProgramIsInTheKey) {
  const std::string first = path();
  EXPECT_NE(first, cache.entry_path(client, "copy outputs=4", {}));
  EXPECT_NE(first, cache.entry_path(client, "copy outputs=3", {.replicas = 2}));
  EXPECT_NE(first, cache.entry_path(client, "copy outputs=3", {.flags = {{"a", true}}}));
  EXPECT_NE(first, ExecutableCache(folder, "--xla_a=1").entry_path(client, "copy outputs=3", {}));
  control->devices = 1;
  EXPECT_NE(first, cache.entry_path(PjrtClient(plugin), "copy outputs=3", {}));
  control->minor_version = 71;
  const PjrtPlugin newer(BERTH_FAKE_PLUGIN);
  control->devices = 2;
  EXPECT_NE(first, cache.entry_path(PjrtClient(newer), "copy outputs=3", {}));
  control->minor_version = 70;
}

TEST_F(ExecutableCacheTest, DamagedEntryIsCompiledAgainAfterOneWarning) {
  cache.compile(client, "copy outputs=3");
  std::string bytes = read_text(path());
  bytes.back() ^= 1;
  write_text(path(), bytes);
  EXPECT_EQ(cache.compile(client, "copy outputs=3").outputs(), 3u);
  EXPECT_EQ(compilations(), 2);
  EXPECT_NE(log.warnings().find("is compiled again: " + path() + ": "), std::string::npos)
      << log.warnings();
  EXPECT_EQ(std::count(log.lines().begin(), log.lines().end(), '\n'), 1);
  cache.compile(client, "copy outputs=3");  // from the new entry
  EXPECT_EQ(compilations(), 2);
}

TEST_F(ExecutableCacheTest, EntryThatThePluginRefusesIsCompiledAgain) {
  cache.compile(client, "copy outputs=3");
  fail("Executable_DeserializeAndLoad");
  EXPECT_EQ(cache.compile(client, "copy outputs=3").outputs(), 3u);
  EXPECT_EQ(compilations(), 2);
  EXPECT_NE(log.warnings().find("Executable_DeserializeAndLoad failed"), std::string::npos);
}

TEST_F(ExecutableCacheTest, FolderThatCannotBeWrittenCostsAWarning) {
  write_text(scratch / "file", "");
  const ExecutableCache blocked(scratch / "file/cache");
  EXPECT_EQ(blocked.compile(client, "copy outputs=3").outputs(), 3u);
  EXPECT_NE(log.warnings().find("a compiled program is not cached: "), std::string::npos);
}

TEST_F(ExecutableCacheTest, PluginThatCannotSerializeCostsAWarning) {
  fail("Executable_Serialize", PJRT_Error_Code_UNIMPLEMENTED);
  EXPECT_EQ(cache.compile(client, "copy outputs=3").outputs(), 3u);
  EXPECT_NE(log.warnings().find("a compiled program is not cached: "), std::string::npos);
}

TEST_F(ExecutableCacheTest, NoFolderCachesNothing) {
  ExecutableCache("").compile(client, "copy");
  ExecutableCache("").compile(client, "copy");
  EXPECT_EQ(compilations(), 2);
}

TEST(CacheEntry, EveryDamageIsFound) {
  const ScratchDirectory scratch;
  const std::string path = scratch / "entry";
  EXPECT_FALSE(read_cache_entry(path).has_value());
  write_cache_entry(path, "a program");
  EXPECT_EQ(read_cache_entry(path), "a program");
  const std::string whole = read_text(path);
  for (size_t i = 0; i < whole.size(); ++i) {
    write_text(path, whole.substr(0, i));
    EXPECT_THAT([&] { read_cache_entry(path); }, ThrowsCode(Code::kCorrupt, path)) << i;
    std::string flipped = whole;
    flipped[i] ^= 4;
    write_text(path, flipped);
    EXPECT_THAT([&] { read_cache_entry(path); }, ThrowsCode(Code::kCorrupt, path)) << i;
  }
  write_text(path, whole + "x");
  EXPECT_THAT([&] { read_cache_entry(path); }, ThrowsCode(Code::kCorrupt, "the size is wrong"));
}

std::string hash_of(const std::vector<std::string>& texts) {
  Hash128 hash;
  for (const std::string& text : texts) hash.add(text);
  return hash.hex();
}

TEST(Hash128Test, TellsTextsApart) {
  std::vector<std::string> hashes = {hash_of({}),          hash_of({""}),        hash_of({"", ""}),
                                     hash_of({"ab", "c"}), hash_of({"a", "bc"}), hash_of({"abc"}),
                                     hash_of({"c", "ab"})};
  std::string text;
  for (int i = 0; i < 1000; ++i) {
    text += '\0';  // padding of the last block must not hide zeros
    hashes.push_back(hash_of({text}));
  }
  EXPECT_EQ(hashes[0].size(), 32u);
  std::sort(hashes.begin(), hashes.end());
  EXPECT_EQ(std::unique(hashes.begin(), hashes.end()), hashes.end());
}

TEST(Hash128Test, OneBitChangesHalfOfTheHash) {
  std::string text(100, 'x');
  const std::string before = hash_of({text});
  for (size_t i = 0; i < text.size(); ++i) {
    text[i] ^= 1;
    const std::string after = hash_of({text});
    text[i] ^= 1;
    int same = 0;
    for (size_t digit = 0; digit < 32; ++digit) same += before[digit] == after[digit];
    EXPECT_LT(same, 12) << i;  // 2 of 32 on average
  }
}

}  // namespace
}  // namespace berth
