#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/base/error.h"

namespace berth {

// Where something is stored: "gs://bucket/a/b" or a local path ("a/b", "/a/b", "file:///a/b").
// Other paths are taken as they are, "/gcs/bucket/a" too. A value; nothing is checked against any
// storage.
class Uri {
 public:
  Uri() = default;

  // Throws kUsage on an empty text, an unknown scheme or a missing bucket.
  static Uri parse(std::string_view text);

  const std::string& scheme() const { return scheme_; }  // "file", "gs", "http", "https"
  const std::string& host() const { return host_; }      // bucket or authority; empty for files
  const std::string& path() const { return path_; }      // local path, or object name
  bool is_local() const { return scheme_ == "file"; }

  // `child` (relative, "/" between parts) below this one.
  Uri operator/(std::string_view child) const;
  std::string file_name() const;  // last part of the path; empty after a trailing "/"
  std::string to_string()
      const;                // as a user would write it, but for a URL's query: it may be a key
  std::string url() const;  // all of it
  bool operator==(const Uri&) const = default;

 private:
  std::string without_query() const;  // the path

  std::string scheme_ = "file", host_, path_;
};

// The bytes [offset, offset + length) as far as there are any.
struct ReadOptions {
  uint64_t offset = 0;
  std::optional<uint64_t> length{};
  std::optional<Generation> generation{};  // this version or kNotFound
  std::stop_token stop{};  // remote: open() and read() give up with kStopped soon after
};

struct Stat;

// With if_generation, kInUse (another process wrote there) when the version is no longer that one:
// at once where it is known at once, else from close().
struct WriteOptions {
  std::optional<Generation> if_generation{};  // replace this version only; 0: create only
  std::optional<uint64_t> size_hint{};        // about
  // Google Cloud Storage alone: nothing is written, the new object is these (at most 32 of its
  // bucket) one after the other, and they are gone.
  std::vector<Stat> made_of{};
};

// Of a sink whose bytes the storage forgot half-way (kUnavailable): they must all be written again,
// to a new sink, as store_object() does.
class UploadLost final : public Error {
 public:
  explicit UploadLost(const std::string& where)
      : Error(Code::kUnavailable, "the upload was lost half-way", where, "start again") {}
};

// The one door to stored bytes. Thread-safe. Absent is kNotFound, refused kNotPermitted, a full
// disk kNoSpace, anything worth another try kUnavailable; every Error names the URI.
class Storage {
 public:
  virtual ~Storage() = default;

  virtual std::unique_ptr<ByteSource> open(const Uri& uri, const ReadOptions& options = {}) = 0;

  // Missing local directories are made. The object appears, whole, when the sink is closed.
  virtual std::unique_ptr<ByteSink> create(const Uri& uri, const WriteOptions& options = {}) = 0;

  // Absent: nullopt. A local directory counts as absent.
  virtual std::optional<Stat> stat(const Uri& uri) = 0;

  // Every object below `prefix` (a directory, at any depth), sorted by name. None: empty. What a
  // sink has not yet published is left out. Where there are more than `enough`, it may be only some
  // of them, as many or more.
  virtual std::vector<Stat> list(const Uri& prefix, size_t enough = SIZE_MAX) = 0;

  // Absent already: no error. Another version than `if_generation`: kInUse.
  // With a trailing "/" a local directory, where it is empty.
  virtual void remove(const Uri& uri, std::optional<Generation> if_generation = {}) = 0;
};

}  // namespace berth
