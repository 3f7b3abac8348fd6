#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "tests/support/http_server.h"

namespace berth {

// The kinds of requests that the fake distinguishes.
enum class GcsCall {
  kMetadata,      // the metadata of one object
  kList,          //
  kDownload,      //
  kUpload,        // an upload in one request: uploadType media or multipart
  kSessionStart,  // the start of a resumable upload: uploadType resumable
  kChunk,         // a chunk of a resumable upload
  kStatusQuery,   // asks how far a resumable upload is: Content-Range: bytes */...
  kCancel,        // ends a resumable upload: DELETE
  kJoin,          // compose
  kDelete,        // deletes an object
  kOther,         // buckets, the XML API, and unknown requests
};

// What goes wrong with one request. Members with their default value have no effect.
struct GcsFault {
  int status = 0;                           // answers with this status and does nothing else
  std::optional<int> retry_after_s{};       // ... and with this Retry-After
  bool reset = false;                       // resets the connection before anything is done
  bool lose_answer = false;                 // does what was asked, then resets the connection
  bool token_expired = false;               // answers 401
  bool whole_for_range = false;             // answers 200 with all bytes to a range request
  int session_gone = 0;                     // answers 404 or 410 to this session from now on
  std::optional<uint64_t> keep{};           // keeps so many bytes of a chunk (256 KiB multiples)
  std::optional<uint64_t> cut_upload{};     // resets the connection after so many bytes have
                                            // arrived; those of a chunk are kept
  std::optional<uint64_t> damage_upload{};  // flips a bit of this byte of the content
  WireFault answer{};                       // the fault of the answer

  static GcsFault answers(int status, std::optional<int> retry_after_s = {});
  static GcsFault resets() { return {.reset = true}; }
  static GcsFault loses_answer() { return {.lose_answer = true}; }
  static GcsFault expires_token() { return {.token_expired = true}; }
  static GcsFault sends_whole_object() { return {.whole_for_range = true}; }
  static GcsFault loses_session(int status) { return {.session_gone = status}; }
  static GcsFault keeps(uint64_t bytes) { return {.keep = bytes}; }
  static GcsFault keeps_then_resets(uint64_t bytes) { return {.lose_answer = true, .keep = bytes}; }
  static GcsFault cuts_upload_at(uint64_t byte) { return {.cut_upload = byte}; }
  static GcsFault damages_upload_at(uint64_t byte) { return {.damage_upload = byte}; }
  static GcsFault cuts_header() { return {.answer = {.cut_header = true}}; }
  static GcsFault cuts_at(size_t byte) { return {.answer = {.cut_after = byte}}; }
  static GcsFault resets_at(size_t byte);
  static GcsFault damages(size_t byte) { return {.answer = {.flip_byte = byte}}; }
  static GcsFault stalls(double seconds) { return {.answer = {.stall_s = seconds}}; }
  static GcsFault stalls_at(size_t byte, double seconds);
};

// Applies `fault` to matching requests: the first `skip` of them pass, the next `times` are hit.
struct GcsRule {
  GcsFault fault;
  std::optional<GcsCall> call{};  // nullopt: any call
  std::string object{};           // the object's name; empty: any object
  int skip = 0, times = 1;
};

// Random faults for every kind of request. With the same seed, the n-th request of one kind for one
// object always gets the same fault.
struct RandomGcsFaults {
  uint64_t seed = 0;
  double probability = 0;
  int in_a_row = 3;            // most successive faults of one object; at most one expires a token
  int lost_sessions = 2;       // most lost sessions and damaged uploads of one object
  bool damage = true;          // whether bytes of downloads and uploads are damaged
  bool expired_tokens = true;  // whether tokens expire; the client must be able to renew its token
  double stall_s = 0.02;
};

// Decides the fault of each request. Thread-safe.
class GcsFaults {
 public:
  // Rules are applied in the order in which they were added. Only the first rule that matches a
  // request counts it.
  void add(const GcsRule& rule);
  void draw(const RandomGcsFaults& random);
  void clear();               // removes the rules and the random faults
  size_t rules_left() const;  // rules that still wait for requests
  size_t hits() const;        // requests that had a fault

  // The fault of the request that has just begun.
  GcsFault next(GcsCall call, const std::string& object);

 private:
  struct Past {
    int in_a_row = 0, lost_sessions = 0;
    bool expired = false;  // within this row
    std::map<GcsCall, uint64_t> requests{};
  };

  std::optional<GcsFault> scripted(GcsCall call, const std::string& object);
  std::optional<GcsFault> drawn(GcsCall call, const std::string& object);

  mutable std::mutex mutex_;
  std::deque<GcsRule> rules_;
  RandomGcsFaults random_;
  std::map<std::string, Past> past_;  // by object
  size_t hits_ = 0;
};

}  // namespace berth
