#include "tests/support/fake_gcs_faults.h"

#include <algorithm>
#include <functional>
#include <random>
#include <vector>

namespace berth {
namespace {

// Every fault that a request of this kind may have, with sizes and places drawn from `random`.
std::vector<GcsFault> possible_faults(GcsCall call, const RandomGcsFaults& options,
                                      std::mt19937_64& random) {
  const auto below = [&](uint64_t limit) { return random() % limit; };
  std::vector<GcsFault> faults = {GcsFault::answers(408),    GcsFault::answers(429, 1),
                                  GcsFault::answers(500),    GcsFault::answers(502),
                                  GcsFault::answers(503, 2), GcsFault::answers(504),
                                  GcsFault::resets(),        GcsFault::loses_answer(),
                                  GcsFault::cuts_header(),   GcsFault::stalls(options.stall_s)};
  if (options.expired_tokens) faults.push_back(GcsFault::expires_token());
  const uint64_t place =
      below(uint64_t{1} << (4 + below(18)));  // small places are as likely as large ones
  switch (call) {
    case GcsCall::kDownload:
      faults.push_back(GcsFault::cuts_at(place));
      faults.push_back(GcsFault::resets_at(place));
      faults.push_back(GcsFault::stalls_at(place, options.stall_s));
      faults.push_back(GcsFault::sends_whole_object());
      if (options.damage) faults.push_back(GcsFault::damages(place));
      break;
    case GcsCall::kMetadata:
    case GcsCall::kList:
      faults.push_back(GcsFault::cuts_at(below(64)));
      break;
    case GcsCall::kUpload:
      faults.push_back(GcsFault::cuts_upload_at(place));
      if (options.damage) faults.push_back(GcsFault::damages_upload_at(place));
      break;
    case GcsCall::kChunk:
      faults.push_back(GcsFault::keeps(place));
      faults.push_back(GcsFault::keeps_then_resets(place));
      faults.push_back(GcsFault::cuts_upload_at(place));
      faults.push_back(GcsFault::loses_session(below(2) == 0 ? 404 : 410));
      if (options.damage) faults.push_back(GcsFault::damages_upload_at(place));
      break;
    case GcsCall::kStatusQuery:
      faults.push_back(GcsFault::loses_session(below(2) == 0 ? 404 : 410));
      break;
    default:
      break;
  }
  return faults;
}

}  // namespace

GcsFault GcsFault::answers(int status, std::optional<int> retry_after_s) {
  return {.status = status, .retry_after_s = retry_after_s};
}

GcsFault GcsFault::resets_at(size_t byte) {
  return {.answer = {.cut_after = byte, .cut_resets = true}};
}

GcsFault GcsFault::stalls_at(size_t byte, double seconds) {
  return {.answer = {.stall_s = seconds, .stall_at = byte}};
}

void GcsFaults::add(const GcsRule& rule) {
  const std::lock_guard lock(mutex_);
  rules_.push_back(rule);
}

void GcsFaults::draw(const RandomGcsFaults& random) {
  const std::lock_guard lock(mutex_);
  random_ = random;
  past_.clear();
}

void GcsFaults::clear() {
  const std::lock_guard lock(mutex_);
  rules_.clear();
  random_ = {};
}

size_t GcsFaults::rules_left() const {
  const std::lock_guard lock(mutex_);
  return rules_.size();
}

size_t GcsFaults::hits() const {
  const std::lock_guard lock(mutex_);
  return hits_;
}

GcsFault GcsFaults::next(GcsCall call, const std::string& object) {
  const std::lock_guard lock(mutex_);
  auto fault = scripted(call, object);
  if (!fault) fault = drawn(call, object);
  hits_ += fault ? 1 : 0;
  return fault.value_or(GcsFault{});
}

std::optional<GcsFault> GcsFaults::scripted(GcsCall call, const std::string& object) {
  const auto rule = std::find_if(rules_.begin(), rules_.end(), [&](const GcsRule& candidate) {
    return candidate.call.value_or(call) == call &&
           (candidate.object.empty() || candidate.object == object);
  });
  if (rule == rules_.end()) return std::nullopt;
  if (rule->skip > 0) {
    --rule->skip;
    return std::nullopt;
  }
  const GcsFault fault = rule->fault;
  if (--rule->times == 0) rules_.erase(rule);
  return fault;
}

std::optional<GcsFault> GcsFaults::drawn(GcsCall call, const std::string& object) {
  if (random_.probability <= 0) return std::nullopt;
  Past& past = past_[object];
  const uint64_t request = ++past.requests[call];
  const std::hash<std::string> hash;
  std::seed_seq seed{random_.seed, uint64_t{hash(object)}, static_cast<uint64_t>(call), request};
  std::mt19937_64 random(seed);
  const bool spared = past.in_a_row >= random_.in_a_row ||
                      std::uniform_real_distribution<>()(random) >= random_.probability;
  std::optional<GcsFault> fault;
  if (!spared) {
    const auto faults = possible_faults(call, random_, random);
    fault = faults[random() % faults.size()];
    const bool ends_session = fault->session_gone != 0 || fault->damage_upload;
    if (ends_session && ++past.lost_sessions > random_.lost_sessions) fault.reset();
    if (fault && fault->token_expired && std::exchange(past.expired, true)) fault.reset();
  }
  past.in_a_row = fault ? past.in_a_row + 1 : 0;
  if (!fault) past.expired = false;
  return fault;
}

}  // namespace berth
