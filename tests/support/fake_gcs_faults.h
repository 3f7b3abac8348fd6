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

enum class GcsCall {
  kMetadata,      // of one object
  kList,          //
  kDownload,      //
  kUpload,        // one request: uploadType media or multipart
  kSessionStart,  // uploadType resumable
  kChunk,         // of a session
  kStatusQuery,   // of a session: Content-Range: bytes */...
  kCancel,        // of a session: DELETE
  kJoin,          // compose
  kDelete,        // of an object
  kOther,         // buckets, the XML API, what is unknown
};

// What goes wrong with one request. Only what is set does.
struct GcsFault {
  int status = 0;                           // answered at once ...
  std::optional<int> retry_after_s{};       // ... with this
  bool reset = false;                       // the connection, before anything is done
  bool lose_answer = false;                 // done, then the connection is reset
  bool token_expired = false;               // 401
  bool whole_for_range = false;             // 200 with all bytes, where a range was asked for
  int session_gone = 0;                     // 404 or 410, now and from now on
  std::optional<uint64_t> keep{};           // of a chunk so many bytes are kept (256 KiB multiples)
  std::optional<uint64_t> cut_upload{};     // connection reset when so many bytes have come;
                                            // of a chunk they are kept
  std::optional<uint64_t> damage_upload{};  // this byte of the content arrives with a bit turned
  WireFault answer{};                       // how its answer goes wrong

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

// A fault for the requests that match: `skip` of them pass first, then it hits `times`.
struct GcsRule {
  GcsFault fault;
  std::optional<GcsCall> call{};  // else any
  std::string object{};           // by name; empty: any
  int skip = 0, times = 1;
};

// Faults for every kind of request, drawn anew for each. The same seed gives the n-th request of a
// kind for an object the same fault.
struct RandomGcsFaults {
  uint64_t seed = 0;
  double probability = 0;
  int in_a_row = 3;            // at most, for one object; one that expires its token at most
  int lost_sessions = 2;       // at most, for one object; damaged uploads count
  bool damage = true;          // a byte of a download or an upload
  bool expired_tokens = true;  // needs a client that has another one
  double stall_s = 0.02;
};

// Which request suffers what. Thread-safe.
class GcsFaults {
 public:
  // Rules are used up in order: the first one that matches a request counts it, the others wait.
  void add(const GcsRule& rule);
  void draw(const RandomGcsFaults& random);
  void clear();               // rules, and the random ones
  size_t rules_left() const;  // that have not yet been used up
  size_t hits() const;        // requests that suffered

  // Of the request that has just begun.
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
