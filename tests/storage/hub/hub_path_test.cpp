#include "storage/hub/hub_path.h"

#include <gtest/gtest.h>

#include "tests/support/throws_code.h"

namespace berth {
namespace {

HubPath parsed(const std::string& text) { return HubPath::parse(Uri::parse(text)); }

TEST(HubPath, NamesAFileOfAModel) {
  const HubPath path = parsed("hf://google-bert/bert-base-uncased/onnx/config.json");
  EXPECT_FALSE(path.is_dataset);
  EXPECT_EQ(path.repository, "google-bert/bert-base-uncased");
  EXPECT_EQ(path.revision, "main");
  EXPECT_EQ(path.path, "onnx/config.json");
  EXPECT_EQ(path.api_path(), "models/google-bert/bert-base-uncased");
  EXPECT_EQ(path.cache_folder(), "models--google-bert--bert-base-uncased");
  EXPECT_EQ(path.repository_uri(), "hf://google-bert/bert-base-uncased");
}

TEST(HubPath, ARevisionFollowsTheName) {
  const HubPath path = parsed("hf://org/name@refs%2Fpr%2F1/vocab.txt");
  EXPECT_EQ(path.repository, "org/name");
  EXPECT_EQ(path.revision, "refs/pr/1");
  EXPECT_EQ(path.path, "vocab.txt");
  EXPECT_EQ(path.repository_uri(), "hf://org/name@refs/pr/1");
}

TEST(HubPath, AModelWithoutOrganisationKeepsItsNameWhenAPathIsAppended) {
  const Uri uri = Uri::parse("hf://bert-base-uncased");
  EXPECT_EQ(HubPath::parse(uri).repository, "bert-base-uncased");
  const HubPath file = HubPath::parse(uri / "config.json");
  EXPECT_EQ(file.repository, "bert-base-uncased");
  EXPECT_EQ(file.revision, "main");
  EXPECT_EQ(file.path, "config.json");
  EXPECT_EQ(HubPath::parse(Uri::parse((uri / "config.json").to_string())).path, "config.json");
}

TEST(HubPath, NamesADataset) {
  EXPECT_EQ(parsed("hf://datasets/nyu-mll/glue/sst2/train.parquet").path, "sst2/train.parquet");
  EXPECT_EQ(parsed("hf://datasets/nyu-mll/glue").cache_folder(), "datasets--nyu-mll--glue");
  const HubPath alone = HubPath::parse(Uri::parse("hf://datasets/ag_news/") / "data/a.parquet");
  EXPECT_TRUE(alone.is_dataset);
  EXPECT_EQ(alone.repository, "ag_news");
  EXPECT_EQ(alone.path, "data/a.parquet");
  EXPECT_EQ(alone.web_path(), "datasets/ag_news");
}

TEST(HubPath, RefusesNamesThatTheHubForbids) {
  for (const char* bad : {"hf://org/..", "hf://../name", "hf://org/na--me", "hf://org/-name",
                          "hf://org/name@../../x", "hf://org/name@a%2F%2Fb", "hf://org/na me",
                          "hf://org/name@%2Fx", "hf://spaces/org/name", "hf://@main"}) {
    EXPECT_THAT([&] { parsed(bad); }, ThrowsCode(Code::kUsage)) << bad;
  }
  EXPECT_THAT([] { Uri::parse("hf://"); }, ThrowsCode(Code::kUsage, "no repository"));
}

TEST(HubUriOf, KnowsNamesOfTheHub) {
  EXPECT_EQ(hub_uri_of("bert-base-uncased"), "hf://bert-base-uncased@main");
  EXPECT_EQ(hub_uri_of("sentence-transformers/all-MiniLM-L6-v2"),
            "hf://sentence-transformers/all-MiniLM-L6-v2@main");
  EXPECT_EQ(hub_uri_of("org/name@v1.0"), "hf://org/name@v1.0");
  EXPECT_EQ(hub_uri_of("org/name@refs/pr/1"), "hf://org/name@refs%2Fpr%2F1");
}

TEST(HubUriOf, LeavesPathsAlone) {
  for (const char* path : {"", ".", "..", "./model", "../model", "/data/model", "a/b/c", "model/",
                           "gs://b/m", "hf://org/name", "a b", "name@", "org/"}) {
    EXPECT_EQ(hub_uri_of(path), std::nullopt) << path;
  }
}

}  // namespace
}  // namespace berth
