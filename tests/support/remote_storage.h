#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "storage/open_storage.h"
#include "tests/support/fake_gcs.h"

namespace berth {

// A clock that only sleeping advances, so that retries take no time. Thread-safe.
class SleepClock {
 public:
  void attach_to(RetryOptions& retry) {
    retry.now = [this] { return now_s_.load(); };
    retry.sleep = [this](double seconds) { now_s_.store(now_s_.load() + seconds); };
    retry.random = [] { return 0.5; };
  }
  double now_s() const { return now_s_; }

 private:
  std::atomic<double> now_s_ = 1000;
};

inline constexpr uint64_t kPart = uint64_t{64} << 10;  // bytes in a part of a transfer

// The program's storage, connected to a fake of Google Cloud Storage. Retries take no time and
// transfers have small parts. It uses no credentials unless `options` name a metadata server.
class RemoteStorage {
 public:
  explicit RemoteStorage(const FakeGcsOptions& fake = {}, StorageOptions options = {}) : gcs(fake) {
    const bool has_accounts =
        options.credentials.metadata_host != CredentialOptions().metadata_host;
    (has_accounts ? options.endpoint : options.emulator_host) = gcs.url();
    options.transfer.part_bytes = kPart;
    options.transfer.upload_part_bytes = kPart;
    options.transfer.connections = 4;
    clock.attach_to(options.retry);
    storage = open_storage(options);
  }

  Uri at(const std::string& name) const { return Uri::parse("gs://bucket/" + name); }

  std::string get(const std::string& name, const ReadOptions& options = {}) {
    return std::string(as_text(read_all(*storage->open(at(name), options), 1 << 30, name)));
  }

  // As store_object() where the size is known.
  static WriteOptions about(uint64_t size) { return {.if_generation = {}, .size_hint = size}; }

  Stat put(const std::string& name, std::string_view text, const WriteOptions& options = {}) {
    const auto sink = storage->create(at(name), options);
    sink->write(as_bytes(text));
    return sink->close();
  }

  FakeGcs gcs;
  SleepClock clock;
  std::unique_ptr<Storage> storage;
};

// `size` pseudo-random bytes.
inline std::string noise(size_t size, uint64_t seed = 1) {
  std::string text(size, '\0');
  uint64_t x = seed * 0x9E3779B97F4A7C15u + 1;
  for (char& c : text) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    c = static_cast<char>(x >> 32);
  }
  return text;
}

}  // namespace berth
