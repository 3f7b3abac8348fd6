#include <gtest/gtest.h>

#include "entrypoint/gathering/connection.h"
#include "storage/base/error.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

using Kind = Message::Kind;

const std::vector<Message> kMessages = {
    {.kind = Kind::kHello,
     .rank = 3,
     .size = 8,
     .host = "berth-3",
     .job = "0.1 1234",
     .attempt = "x",
     .nonce = "0123",
     .proof = "4567"},
    {.kind = Kind::kChallenge, .nonce = "89ab"},
    {.kind = Kind::kWelcome, .attempt = "abcdefghijkl"},
    {.kind = Kind::kLater, .text = "worker 3 is there already"},
    {.kind = Kind::kRefused, .text = "no"},
    {.kind = Kind::kSet, .key = "rank/1", .value = {std::byte{0}, std::byte{255}, std::byte{16}}},
    {.kind = Kind::kGet, .key = "rank/1"},
    {.kind = Kind::kValue, .key = "rank/1", .value = {std::byte{7}}},
    {.kind = Kind::kAlive},
    {.kind = Kind::kLeave, .code = 143, .text = "stopped \"by\" a signal\n"},
    {.kind = Kind::kLost, .rank = 2, .host = "berth-2", .text = "has been silent"},
    {.kind = Kind::kDone}};

TEST(Message, ArrivesAsItWasSentHoweverTheBytesAreCut) {
  std::string bytes;
  for (const Message& message : kMessages) bytes += encode(message);
  for (const size_t step : {size_t{1}, size_t{3}, size_t{100}, bytes.size()}) {
    MessageReader reader;
    std::vector<Message> read;
    for (size_t at = 0; at < bytes.size(); at += step) {
      reader.add(as_bytes(std::string_view(bytes).substr(at, step)));
      while (auto message = reader.next()) read.push_back(*message);
    }
    EXPECT_EQ(read, kMessages) << step;
  }
}

TEST(Message, WaitsForTheRest) {
  const std::string bytes = encode(kMessages[0]);
  for (size_t length = 0; length < bytes.size(); ++length) {
    MessageReader reader;
    reader.add(as_bytes(std::string_view(bytes).substr(0, length)));
    EXPECT_FALSE(reader.next()) << length;
  }
}

std::string framed(const std::string& json) {
  std::string frame(4, '\0');
  frame[0] = static_cast<char>(json.size() & 0xff);
  frame[1] = static_cast<char>(json.size() >> 8);
  return frame + json;
}

TEST(Message, RefusesWhatNoWorkerSends) {
  const std::vector<std::string> frames = {
      framed(""),
      framed("[]"),
      framed("{"),
      framed("{\"kind\":7}"),
      framed("{\"kind\":\"greet\"}"),
      framed("{\"kind\":\"set\",\"value\":\"0\"}"),
      framed("{\"kind\":\"set\",\"value\":\"0G\"}"),
      framed("{\"kind\":\"hello\",\"rank\":\"1\"}"),
      framed("{\"kind\":\"hello\",\"rank\":1.5}"),
      framed("{\"kind\":\"hello\",\"host\":[]}"),
      "GET / HTTP/1.1\r\n\r\n",  // the first bytes are a length of 500 MB
      std::string("\xff\xff\xff\xff", 4)};
  for (const std::string& frame : frames) {
    MessageReader reader;
    reader.add(as_bytes(frame));
    EXPECT_THAT([&] { reader.next(); }, ThrowsCode(Code::kCorrupt)) << frame;
  }
}

TEST(Message, RefusesMoreBytesThanMayBe) {
  const std::string bytes = encode({.kind = Kind::kSet, .text = std::string(5000, 'x')});
  MessageReader stranger(MessageReader::kMostBytesAtFirst);
  stranger.add(as_bytes(bytes).first(4));  // the length is enough
  EXPECT_THAT([&] { stranger.next(); }, ThrowsCode(Code::kCorrupt));
  MessageReader worker(MessageReader::kMostBytesAtFirst);
  worker.set_most_bytes(MessageReader::kMostBytes);
  worker.add(as_bytes(bytes));
  EXPECT_TRUE(worker.next());
}

TEST(Message, SurvivesEveryFlippedBit) {
  const std::string bytes = encode(kMessages[5]);
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
    MessageReader reader;
    reader.add(as_bytes(damaged));
    try {
      reader.next();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kCorrupt);
    }
  }
}

}  // namespace
}  // namespace berth
