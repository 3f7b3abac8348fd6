#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <regex>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

// The floors of ARCHITECTURE.md, whose table says what each folder may include. The tests read the
// table and the sources.
namespace berth {
namespace {

namespace fs = std::filesystem;

struct Floor {
  int number = 0;
  std::string folder{};
  std::vector<std::string> may_include{};  // folders or single headers, in addition to itself
};

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// The rows "| floor | folder | what it is | may include |". A file belongs to the floor with the
// longest folder path that contains it.
std::vector<Floor> read_floors() {
  const std::regex row(R"(\| (\d+) \| ([\w/]+) \|[^|]*\| ([^|]*)\|)"), path(R"([\w/.]+)");
  std::vector<Floor> floors;
  std::istringstream lines(read(fs::path(BERTH_ROOT) / "ARCHITECTURE.md"));
  for (std::string line; std::getline(lines, line);) {
    std::smatch cells;
    if (!std::regex_match(line, cells, row)) continue;
    const std::string allowed = cells[3];
    floors.push_back({.number = std::stoi(cells[1]), .folder = cells[2]});
    for (std::sregex_iterator it(allowed.begin(), allowed.end(), path), end; it != end; ++it) {
      floors.back().may_include.push_back(it->str());
    }
  }
  return floors;
}

const std::vector<Floor>& floors() {
  static const std::vector<Floor> all = read_floors();
  return all;
}

struct Library {
  std::string header;                // how its headers start
  std::vector<std::string> seen_by;  // the few files, or small folders, that include them
};

const std::string kBlockCodec = "storage/formats/columnar/block_codec.cpp";

const std::vector<Library> kLibraries = {
    {"archive", {"storage/libarchive_reader.cpp"}},
    {"cblas", {"trainer/cpu/kernels/gemm.cpp"}},
    {"openblas", {"trainer/cpu/kernels/gemm.cpp"}},
    {"curl/", {"storage/http/curl_client.cpp"}},
    {"gloo/", {"trainer/distributed/gloo_communicator.cpp"}},
    {"cxxopts", {"entrypoint/flags/flags.cpp"}},
    {"lz4.h", {kBlockCodec}},
    {"lz4frame.h", {kBlockCodec}},
    {"openssl/",
     {"entrypoint/gathering/proof.cpp", "storage/google/jwt.cpp", "storage/hub/content_hash.cpp"}},
    {"pjrt_c_api.h", {"trainer/xla/pjrt/"}},
    {"utf8proc", {"trainer/text/unicode.cpp"}},
    {"zlib.h",
     {"storage/gzip_stream.cpp", kBlockCodec, "storage/formats/png.cpp",
      "storage/formats/zip_file.cpp"}},
    {"zstd.h", {kBlockCodec}},
};

// Headers of the kernel, the C library and the compiler. They count neither as third-party nor as
// the standard library.
const std::vector<std::string> kSystem = {
    "arm_",     "arpa/",       "cpuid.h",     "dirent.h",   "dlfcn.h",  "execinfo.h", "elf.h",
    "errno.h",  "fcntl.h",     "immintrin.h", "linux/",     "locale.h", "malloc.h",   "netdb.h",
    "netinet/", "nmmintrin.h", "poll.h",      "pthread.h",  "sched.h",  "signal.h",   "spawn.h",
    "stdlib.h", "sys/",        "unistd.h",    "xmmintrin.h"};

struct Include {
  std::string path;
  bool quoted;
};

std::vector<Include> includes_of(const std::string& source) {
  std::vector<Include> found;
  std::istringstream lines(source);
  for (std::string line; std::getline(lines, line);) {
    const auto hash = line.find_first_not_of(" \t");
    if (hash == std::string::npos || line[hash] != '#') continue;
    const auto word = line.find_first_not_of(" \t", hash + 1);
    if (word == std::string::npos || line.compare(word, 7, "include") != 0) continue;
    const auto open = line.find_first_of("<\"", word + 7);
    if (open == std::string::npos) continue;
    const auto close = line.find_first_of(">\"", open + 1);
    found.push_back({line.substr(open + 1, close - open - 1), line[open] == '"'});
  }
  return found;
}

std::string folder_of(const std::string& file) { return fs::path(file).parent_path().string(); }

bool within(std::string_view path, std::string_view folder) {
  return path == folder ||
         (path.starts_with(folder) && path.size() > folder.size() && path[folder.size()] == '/');
}

const Floor* floor_of(const std::string& file) {
  const Floor* best = nullptr;
  for (const Floor& floor : floors()) {
    if (within(folder_of(file), floor.folder) &&
        (best == nullptr || floor.folder.size() > best->folder.size())) {
      best = &floor;
    }
  }
  // The floor of storage/ does not cover its subfolders, so a new subfolder needs a row.
  return best != nullptr && best->folder == "storage" && folder_of(file) != "storage" ? nullptr
                                                                                      : best;
}

// Says what is wrong with an include. Returns "" if the include is allowed.
std::string complaint(const std::string& file, const Include& include) {
  const Floor* floor = floor_of(file);
  if (floor == nullptr) return "the file's folder has no row in the floor table";
  const auto starts = [&](const std::string& prefix) { return include.path.starts_with(prefix); };
  if (include.quoted) {
    if (floor_of(include.path) == floor) return "";
    const auto& allowed = floor->may_include;
    const bool ok = std::any_of(allowed.begin(), allowed.end(), [&](const std::string& folder) {
      return within(include.path, folder);
    });
    return ok ? "" : floor->folder + " may not include it";
  }
  if (include.path.find_first_of("./") == std::string::npos) return "";  // <vector>
  if (std::any_of(kSystem.begin(), kSystem.end(), starts)) return "";
  if (starts("nlohmann/")) {
    const bool light = include.path == "nlohmann/json_fwd.hpp";
    return light || file.ends_with(".cpp") ? "" : "the JSON library stays inside .cpp files";
  }
  for (const Library& library : kLibraries) {
    if (!starts(library.header)) continue;
    const auto is_its = [&](const std::string& place) { return file.starts_with(place); };
    if (std::any_of(library.seen_by.begin(), library.seen_by.end(), is_its)) return "";
    return "only " + library.seen_by.front() + " may see it";
  }
  return "a library that the table of this test does not know";
}

// The sources under `folders`, as paths relative to the project's root.
std::vector<std::string> sources_under(const std::vector<std::string>& folders) {
  std::vector<std::string> files;
  for (const std::string& folder : folders) {
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(BERTH_ROOT) / folder)) {
      const auto extension = entry.path().extension();
      if (extension == ".h" || extension == ".cpp" || extension == ".cu") {
        files.push_back(fs::relative(entry.path(), BERTH_ROOT).generic_string());
      }
    }
  }
  return files;
}

TEST(Floors, EveryIncludePointsDown) {
  for (const std::string& file : sources_under({"storage", "trainer", "entrypoint", "bench"})) {
    for (const Include& include : includes_of(read(fs::path(BERTH_ROOT) / file))) {
      const std::string problem = complaint(file, include);
      EXPECT_TRUE(problem.empty()) << file << " includes " << include.path << ": " << problem;
      EXPECT_TRUE(!include.quoted || fs::exists(fs::path(BERTH_ROOT) / include.path))
          << file << " includes \"" << include.path << "\": write the path from the project's root";
    }
  }
}

TEST(Floors, EveryRowNamesWhatExists) {
  EXPECT_GE(floors().size(), 30u) << "the table of ARCHITECTURE.md has another form";
  for (const Floor& floor : floors()) {
    EXPECT_TRUE(fs::is_directory(fs::path(BERTH_ROOT) / floor.folder)) << floor.folder;
    for (const std::string& allowed : floor.may_include) {
      EXPECT_TRUE(fs::exists(fs::path(BERTH_ROOT) / allowed)) << floor.folder << ": " << allowed;
    }
  }
}

// What a row lists stands on the same floor or below.
TEST(Floors, TheNumbersOfFloorsAreTrue) {
  for (const Floor& floor : floors()) {
    for (const Floor& other : floors()) {
      const auto& allowed = floor.may_include;
      if (std::ranges::find(allowed, other.folder) == allowed.end()) continue;
      EXPECT_LE(other.number, floor.number) << floor.folder << " may include " << other.folder;
    }
  }
}

TEST(Floors, NoSourceIsOver800Lines) {
  for (const std::string& file :
       sources_under({"storage", "trainer", "entrypoint", "bench", "tests"})) {
    const std::string text = read(fs::path(BERTH_ROOT) / file);
    if (text.starts_with("// Generated by")) continue;
    EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 800) << file << ": split it by idea";
  }
}

// The first line and the number of lines of each function that is defined at the beginning of a
// line. The rows of a table count as one line.
std::vector<std::pair<std::string, int>> functions_of(const std::string& source) {
  std::vector<std::pair<std::string, int>> found;
  std::istringstream lines(source);
  bool is_function = false;
  std::optional<std::string> table_indent;  // of the table that the line is in
  for (std::string line; std::getline(lines, line);) {
    const bool is_indented = line.empty() || line[0] == ' ' || line[0] == '#' || line[0] == '/';
    if (!is_indented && line != "{" && line.ends_with('{') && !line.ends_with("= {") &&
        line.find('(') != std::string::npos) {
      is_function = true;
      found.emplace_back(line, 0);
    }
    if (!is_function) continue;
    const size_t indent = std::min(line.find_first_not_of(' '), line.size());
    const bool ends_table = table_indent && line.starts_with(*table_indent + "}");
    if (!table_indent || ends_table) ++found.back().second;
    if (ends_table) table_indent.reset();
    if (!table_indent && (line.ends_with("= {") || line.ends_with("return {")))
      table_indent = std::string(indent, ' ');
    if (line == "}") is_function = false;
  }
  return found;
}

TEST(Floors, NoFunctionIsOver60Lines) {
  for (const std::string& file : sources_under({"storage", "trainer", "entrypoint", "bench"})) {
    for (const auto& [line, count] : functions_of(read(fs::path(BERTH_ROOT) / file))) {
      EXPECT_LE(count, 60) << file << ": " << line << " cut it where a phase has a name of its own";
    }
  }
}

TEST(Floors, GetenvIsCalledByThePlatformAlone) {
  for (const std::string& file : sources_under({"storage", "trainer", "entrypoint"})) {
    if (file.starts_with("entrypoint/platform/platform.")) continue;
    EXPECT_EQ(read(fs::path(BERTH_ROOT) / file).find("getenv("), std::string::npos) << file;
  }
}

// Two types of one name would be one type to the linker, which then calls the wrong destructor.
// Types in an unnamed namespace have names of their own.
TEST(Floors, ATypeOfANamespaceIsDefinedOnce) {
  const std::regex type("(?:class|struct|enum class) (\\w+)(?: final| :|;| \\{).*");
  std::map<std::string, std::string> files;  // that define the type
  for (const std::string& file : sources_under({"storage", "trainer", "entrypoint"})) {
    std::istringstream lines(read(fs::path(BERTH_ROOT) / file));
    std::string scope, line;
    bool is_unnamed = false;
    while (std::getline(lines, line)) {
      if (line == "namespace {") is_unnamed = true;
      if (line == "}  // namespace") is_unnamed = false;
      if (line.starts_with("namespace berth")) scope = line.substr(10, line.size() - 12);
      std::smatch found;
      const bool may_be =
          line.starts_with("class") || line.starts_with("struct") || line.starts_with("enum");
      if (!may_be || is_unnamed || line.ends_with(';') || !std::regex_match(line, found, type))
        continue;
      const auto [before, is_new] = files.emplace(scope + "::" + found.str(1), file);
      EXPECT_TRUE(is_new) << before->first << " is defined in " << before->second << " and in "
                          << file;
    }
  }
}

// These cases test the rules with made-up files.
TEST(FloorRules, DownAndSidewaysIsAllowed) {
  EXPECT_EQ(complaint("storage/local_storage.cpp", {"storage/base/error.h", true}), "");
  EXPECT_EQ(complaint("trainer/cpu/kernels/gemm.cpp", {"trainer/cpu/kernels/tensor.h", true}), "");
  EXPECT_EQ(complaint("trainer/data/batcher.h", {"trainer/model/batch.h", true}), "");
  EXPECT_EQ(complaint("entrypoint/run.cpp", {"trainer/loop/train.h", true}), "");
  EXPECT_EQ(complaint("storage/base/error.h", {"string", false}), "");
}

TEST(FloorRules, UpIsNot) {
  EXPECT_NE(complaint("storage/base/error.h", {"storage/storage.h", true}), "");
  EXPECT_NE(complaint("storage/formats/pickle.cpp", {"storage/storage.h", true}), "");
  EXPECT_NE(complaint("trainer/data/batcher.h", {"trainer/cpu/network/model.h", true}), "");
  EXPECT_NE(complaint("trainer/loop/train.cpp", {"entrypoint/flags/flags.h", true}), "");
  EXPECT_NE(complaint("bench/kernels_bench.cpp", {"entrypoint/flags/flags.h", true}), "");
}

TEST(FloorRules, ALibraryIsSeenByOneFile) {
  EXPECT_EQ(complaint("trainer/text/unicode.cpp", {"utf8proc.h", false}), "");
  EXPECT_NE(complaint("trainer/text/word_model.cpp", {"utf8proc.h", false}), "");
  EXPECT_EQ(complaint("trainer/loop/checkpoint.cpp", {"nlohmann/json.hpp", false}), "");
  EXPECT_NE(complaint("trainer/loop/checkpoint.h", {"nlohmann/json.hpp", false}), "");
  EXPECT_EQ(complaint("trainer/loop/checkpoint.h", {"nlohmann/json_fwd.hpp", false}), "");
  EXPECT_NE(complaint("storage/archive.cpp", {"boost/any.hpp", false}), "");
}

TEST(FloorRules, AFolderWithoutARowIsFound) {
  EXPECT_NE(complaint("storage/cloud/bucket.cpp", {"string", false}), "");
  EXPECT_NE(complaint("trainer/serving/server.cpp", {"string", false}), "");
}

TEST(FloorRules, IncludesAreFoundHoweverSpaced) {
  const auto found = includes_of("  #  include \"a/b.h\"\n#include<vector>\n// #include \"c.h\"\n");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].path, "a/b.h");
  EXPECT_TRUE(found[0].quoted);
  EXPECT_EQ(found[1].path, "vector");
}

}  // namespace
}  // namespace berth
