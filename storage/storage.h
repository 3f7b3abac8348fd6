#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/base/error.h"

namespace berth {

// Where an object is stored: "gs://bucket/a/b", "hf://org/name/a" (storage/hub/hub_path.h), a web
// address, or a local path ("a/b", "/a/b", "file:///a/b"). Local paths are not interpreted;
// "/gcs/bucket/a" is one as well. A plain value: nothing checks whether the object exists.
class Uri {
 public:
  Uri() = default;

  // Throws kUsage on an empty text, an unknown scheme, or a missing bucket or host.
  static Uri parse(std::string_view text);

  const std::string& scheme() const { return scheme_; }  // "file", "gs", "hf", "http", "https"
  const std::string& host() const {
    return host_;
  }  // bucket, host with port, or what follows hf://; empty for files
  const std::string& path() const { return path_; }  // local path or object name
  bool is_local() const { return scheme_ == "file"; }

  // Appends `child`, a relative path with "/" between its parts.
  Uri operator/(std::string_view child) const;
  // Another path in the same bucket, host or file system.
  Uri with_path(std::string path) const;
  std::string file_name() const;  // the last part of the path; empty after a trailing "/"
  // For people and records: without what may be secret, a URL's query, user and password.
  std::string to_string() const;
  std::string url() const;  // the complete address
  bool operator==(const Uri&) const = default;

 private:
  std::string without_query() const;  // the path without a URL's query

  std::string scheme_ = "file", host_, path_;
  std::string user_info_;  // of a URL: "user:password@", or empty
};

struct Stat;

// Selects the bytes [offset, offset + length) that exist.
struct ReadOptions {
  uint64_t offset = 0;
  std::optional<uint64_t> length{};
  std::optional<Generation> generation{};  // read this version, or throw kNotFound
  std::stop_token stop{};  // remote: open() and read() throw kStopped soon after a request
  // What stat() has just returned, so that open() need not ask for it again. Borrowed by open().
  const Stat* known = nullptr;
};

// If the object's version is no longer `if_generation`, another process wrote it. create() throws
// kInUse if it notices this, otherwise close() does.
struct WriteOptions {
  std::optional<Generation> if_generation{};  // replace only this version; 0: only create
  std::optional<uint64_t> size_hint{};        // approximate size of the object
  bool is_read_soon = true;  // or else a large local file stays out of the page cache
};

// Thrown by a sink if the storage lost bytes of an unfinished upload. They must all be written
// again to a new sink, as store_object() does.
class UploadLost final : public Error {
 public:
  explicit UploadLost(const std::string& where)
      : Error(Code::kUnavailable, "the storage lost the upload before it was complete", where,
              "start again") {}
};

// The only way to stored bytes. Thread-safe. Throws kNotFound if an object is absent, kNotPermitted
// if access is denied, kNoSpace if a disk is full, and kUnavailable if another attempt may succeed.
// Every Error names the URI.
class Storage {
 public:
  virtual ~Storage() = default;

  virtual std::unique_ptr<ByteSource> open(const Uri& uri, const ReadOptions& options = {}) = 0;

  // Creates missing local directories. The object appears as a whole when the sink is closed.
  virtual std::unique_ptr<ByteSink> create(const Uri& uri, const WriteOptions& options = {}) = 0;

  // Returns nullopt if the object is absent. A local directory counts as absent.
  virtual std::optional<Stat> stat(const Uri& uri) = 0;

  // Returns every object below the directory `prefix`, at any depth, sorted by name. Returns an
  // empty list if there is none. Objects that are still being written are left out. If there are
  // more than `enough` objects, the list may end early, but not before it has `enough`.
  virtual std::vector<Stat> list(const Uri& prefix, size_t enough = SIZE_MAX) = 0;

  // An absent object is no error. Throws kInUse if the version is not `if_generation`. A path with
  // a trailing "/" removes a local directory if it is empty.
  virtual void remove(const Uri& uri, std::optional<Generation> if_generation = {}) = 0;
};

// A Storage above another one. It forwards the five verbs, so a layer overrides only what it
// changes. Thread-safe where the overrides are.
class StorageLayer : public Storage {
 public:
  explicit StorageLayer(Storage& inner) : inner_(inner) {}  // borrows it
  explicit StorageLayer(std::unique_ptr<Storage> inner)
      : owned_(std::move(inner)), inner_(*owned_) {}

  std::unique_ptr<ByteSource> open(const Uri& uri, const ReadOptions& options) override {
    return inner_for(uri).open(uri, options);
  }
  std::unique_ptr<ByteSink> create(const Uri& uri, const WriteOptions& options) override {
    return inner_for(uri).create(uri, options);
  }
  std::optional<Stat> stat(const Uri& uri) override { return inner_for(uri).stat(uri); }
  std::vector<Stat> list(const Uri& prefix, size_t enough) override {
    return inner_for(prefix).list(prefix, enough);
  }
  void remove(const Uri& uri, std::optional<Generation> if_generation) override {
    inner_for(uri).remove(uri, if_generation);
  }

 protected:
  Storage& inner() const { return inner_; }
  // The storage that a call about `uri` goes to.
  virtual Storage& inner_for(const Uri& /*uri*/) { return inner_; }

 private:
  const std::unique_ptr<Storage> owned_;  // null: borrowed
  Storage& inner_;
};

// Storage that makes one object of several without receiving their bytes again. Google Cloud
// Storage is; local files and HTTP servers are not. Thread-safe.
class JoiningStorage : public Storage {
 public:
  static constexpr size_t kMaxJoined = 32;  // parts of one join()

  // Returns a sink that accepts no bytes. Its close() makes the object `uri`, which holds the bytes
  // of `parts` one after the other, and removes the parts. `parts` are 1 to kMaxJoined objects of
  // the bucket of `uri`, with their CRC-32C. `if_generation` is as in WriteOptions. close() may be
  // called again after kUnavailable; it throws UploadLost if a part is gone.
  virtual std::unique_ptr<ByteSink> join(const Uri& uri, std::vector<Stat> parts,
                                         Generation if_generation) = 0;
};

}  // namespace berth
