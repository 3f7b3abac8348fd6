#include <gtest/gtest.h>

#include "storage/base/bytes.h"
#include "storage/gzip_stream.h"

namespace berth {
namespace {

std::string written(const std::vector<std::string>& parts) {
  MemorySink sink;
  GzipWriter writer(sink);
  for (const std::string& part : parts) writer.write(as_bytes(part));
  writer.finish();
  return std::string(as_text(sink.written));
}

std::string unpacked(const std::string& packed) {
  const auto source = gunzip(std::make_unique<MemorySource>(as_bytes(packed)));
  return std::string(as_text(read_all(*source, uint64_t{1} << 30, "test")));
}

TEST(GzipWriter, WhatItWritesIsReadBack) {
  std::string noise;
  uint32_t state = 1;
  for (int i = 0; i < 300'000; ++i) {
    state = state * 1664525 + 1013904223;
    noise += static_cast<char>(state >> 24);
  }
  EXPECT_EQ(unpacked(written({"a", "", noise, "b"})), "a" + noise + "b");
  EXPECT_EQ(unpacked(written({})), "");
}

TEST(GzipWriter, TheSameBytesGiveTheSameFile) {
  EXPECT_EQ(written({"ab"}), written({"ab"}));
  EXPECT_LT(written({std::string(100'000, 'a')}).size(), 1000u);
}

}  // namespace
}  // namespace berth
