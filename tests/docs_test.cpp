#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <vector>

// The pages that people read: every link between them must lead somewhere, and so must every path
// of the repository that they name.
namespace berth {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> pages() {
  std::vector<fs::path> found;
  for (const char* folder :
       {".", "docs", "docs/internals", "bench", "examples", "examples/model"}) {
    for (const fs::directory_entry& entry : fs::directory_iterator(fs::path(BERTH_ROOT) / folder)) {
      if (entry.path().extension() == ".md") found.push_back(entry.path().lexically_normal());
    }
  }
  return found;
}

std::string text_of(const fs::path& page) {
  std::ifstream file(page);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// The name that GitHub gives to a heading in links: lower case, blanks as hyphens, no punctuation.
std::string anchor_of(const std::string& heading) {
  std::string anchor;
  for (const char c : heading) {
    if (c == ' ') {
      anchor += '-';
    } else if (std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_') {
      anchor += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  return anchor;
}

std::set<std::string> anchors_of(const fs::path& page) {
  std::set<std::string> anchors;
  std::ifstream file(page);
  for (std::string line; std::getline(file, line);) {
    const size_t title = line.find_first_not_of('#');
    if (line.starts_with('#') && title != std::string::npos && line[title] == ' ') {
      anchors.insert(anchor_of(line.substr(title + 1)));
    }
  }
  return anchors;
}

// Why the link `target` on `page` leads nowhere; empty if it leads somewhere. Addresses of the web
// are not looked up.
std::string problem_of(const fs::path& page, const std::string& target) {
  if (target.find("://") != std::string::npos) return "";
  const size_t hash = target.find('#');
  const std::string path = target.substr(0, hash);
  const fs::path file = path.empty() ? page : (page.parent_path() / path).lexically_normal();
  if (!fs::exists(file)) return "there is no " + file.string();
  if (hash == std::string::npos) return "";
  if (anchors_of(file).contains(target.substr(hash + 1))) return "";
  return file.string() + " has no heading for " + target.substr(hash);
}

TEST(Docs, EveryLinkLeadsSomewhere) {
  const std::regex link(R"(\]\(([^)\s]+)\))");
  size_t links = 0;
  for (const fs::path& page : pages()) {
    const std::string text = text_of(page);
    for (std::sregex_iterator it(text.begin(), text.end(), link), end; it != end; ++it) {
      EXPECT_EQ(problem_of(page, (*it)[1]), "") << page;
      ++links;
    }
  }
  EXPECT_GE(links, 40u);
}

// Every page of a folder has a link on the page `from`.
void expect_links(const std::string& from, const std::string& folder) {
  const std::string text = text_of(fs::path(BERTH_ROOT) / from);
  for (const fs::directory_entry& page : fs::directory_iterator(fs::path(BERTH_ROOT) / folder)) {
    if (page.path().extension() != ".md") continue;
    const std::string name = folder + "/" + page.path().filename().string();
    EXPECT_NE(text.find("](" + name), std::string::npos) << from << " does not mention " << name;
  }
}

TEST(Docs, TheReadmeLeadsToEveryPage) { expect_links("README.md", "docs"); }

TEST(Docs, TheArchitectureLeadsToThePagesForDevelopers) {
  expect_links("ARCHITECTURE.md", "docs/internals");
}

TEST(Docs, EveryPathOfTheRepositoryExists) {
  const std::regex path(
      R"((^|[^\w./-])((k8s|scripts|vertex|tests|docs|examples|bench|storage|trainer|entrypoint)/[\w./-]*\w))");
  const std::regex is_to_be_added(R"(.*[/_]x([_.].*)?)");  // such as storage/x_storage.h
  size_t paths = 0;
  for (const fs::path& page : pages()) {
    const std::string text = text_of(page);
    for (std::sregex_iterator it(text.begin(), text.end(), path), end; it != end; ++it) {
      const std::string name = (*it)[2];
      if (name == "examples/s" || std::regex_match(name, is_to_be_added)) continue;  // a rate
      EXPECT_TRUE(fs::exists(fs::path(BERTH_ROOT) / name)) << page << " names " << name;
      ++paths;
    }
  }
  EXPECT_GE(paths, 100u);
}

TEST(Docs, ABrokenLinkIsFound) {
  const fs::path readme = fs::path(BERTH_ROOT) / "README.md";
  EXPECT_EQ(problem_of(readme, "docs/jobs.md#exit-codes"), "");
  EXPECT_NE(problem_of(readme, "docs/jobs.md#no-such-heading"), "");
  EXPECT_NE(problem_of(readme, "docs/no-such-page.md"), "");
}

}  // namespace
}  // namespace berth
