#include "entrypoint/gathering/message.h"

#include <array>
#include <nlohmann/json.hpp>

#include "storage/base/error.h"
#include "storage/base/json.h"

namespace berth {
namespace {

constexpr size_t kLengthBytes = 4;

constexpr std::array<std::string_view, 12> kKinds = {"challenge", "hello", "welcome", "later",
                                                     "refused",   "set",   "get",     "value",
                                                     "alive",     "leave", "lost",    "done"};

Error corrupt() { return Error(Code::kCorrupt, "a message that no worker of berth sends"); }

uint8_t digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<uint8_t>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<uint8_t>(c - 'a' + 10);
  throw corrupt();
}

std::vector<std::byte> from_hex(std::string_view text) {
  if (text.size() % 2 != 0) throw corrupt();
  std::vector<std::byte> bytes;
  bytes.reserve(text.size() / 2);
  for (size_t i = 0; i < text.size(); i += 2) {
    bytes.push_back(std::byte{static_cast<uint8_t>(digit(text[i]) << 4 | digit(text[i + 1]))});
  }
  return bytes;
}

Message::Kind kind_of(const std::string& name) {
  for (size_t i = 0; i < kKinds.size(); ++i) {
    if (kKinds[i] == name) return static_cast<Message::Kind>(i);
  }
  throw corrupt();
}

std::string text_of(const Json& object, const char* name) {
  if (!object.contains(name)) return "";
  if (!object[name].is_string()) throw corrupt();
  return object[name].get<std::string>();
}

int64_t number_of(const Json& object, const char* name) {
  if (!object.contains(name)) return 0;
  if (!object[name].is_number_integer()) throw corrupt();
  return object[name].get<int64_t>();
}

Message parse(std::string_view json) {
  const Json object = parse_json(json);
  if (!object.is_object()) throw corrupt();
  return {.kind = kind_of(text_of(object, "kind")),
          .rank = number_of(object, "rank"),
          .size = number_of(object, "size"),
          .code = number_of(object, "code"),
          .host = text_of(object, "host"),
          .job = text_of(object, "job"),
          .attempt = text_of(object, "attempt"),
          .nonce = text_of(object, "nonce"),
          .proof = text_of(object, "proof"),
          .key = text_of(object, "key"),
          .text = text_of(object, "text"),
          .value = from_hex(text_of(object, "value"))};
}

}  // namespace

std::string hex(Bytes bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const std::byte byte : bytes) {
    text += kDigits[std::to_integer<size_t>(byte >> 4)];
    text += kDigits[std::to_integer<size_t>(byte & std::byte{15})];
  }
  return text;
}

std::string encode(const Message& message) {
  Json object = {{"kind", kKinds[static_cast<size_t>(message.kind)]},
                 {"rank", message.rank},
                 {"size", message.size},
                 {"code", message.code}};
  for (const auto& [name, text] :
       {std::pair("host", &message.host), std::pair("job", &message.job),
        std::pair("attempt", &message.attempt), std::pair("nonce", &message.nonce),
        std::pair("proof", &message.proof), std::pair("key", &message.key),
        std::pair("text", &message.text)}) {
    if (!text->empty()) object[name] = *text;
  }
  if (!message.value.empty()) object["value"] = hex(message.value);
  const std::string json = to_text(object);
  std::string frame;
  for (size_t i = 0; i < kLengthBytes; ++i) {
    frame += static_cast<char>(json.size() >> (8 * i) & 0xff);
  }
  return frame + json;
}

std::optional<Message> MessageReader::next() {
  if (buffer_.size() < kLengthBytes) return std::nullopt;
  size_t length = 0;
  for (size_t i = 0; i < kLengthBytes; ++i) {
    length |= static_cast<size_t>(static_cast<uint8_t>(buffer_[i])) << (8 * i);
  }
  if (length > most_bytes_) throw corrupt();
  if (buffer_.size() < kLengthBytes + length) return std::nullopt;
  Message message = parse(std::string_view(buffer_).substr(kLengthBytes, length));
  buffer_.erase(0, kLengthBytes + length);
  return message;
}

}  // namespace berth
