#include "tests/support/fake_gcs.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "storage/base/bytes.h"
#include "storage/base/checksum.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "tests/support/fake_gcs_answers.h"
#include "tests/support/fake_gcs_join.h"

namespace berth {
namespace {

const char kAccount[] = "job@example.iam.gserviceaccount.com";

std::vector<std::string> segments(std::string_view path) {
  std::vector<std::string> parts;
  while (!path.empty()) {
    path.remove_prefix(1);  // the slash
    const size_t end = std::min(path.find('/'), path.size());
    parts.push_back(percent_decoded(path.substr(0, end)));
    path.remove_prefix(end);
  }
  return parts;
}

GcsCall session_call(const ServedRequest& request) {
  if (request.method == "DELETE") return GcsCall::kCancel;
  return request.header("Content-Range").value_or("").starts_with("bytes */")
             ? GcsCall::kStatusQuery
             : GcsCall::kChunk;
}

// The answer with the status of a fault, in the form of the service or of a proxy in front of it.
ServedAnswer faulty_answer(int status, std::optional<int> retry_after_s) {
  const bool proxy = status == 502 || status == 504;
  const char* reason = status == 429   ? "rateLimitExceeded"
                       : status >= 500 ? "backendError"
                                       : "invalid";
  ServedAnswer answer =
      proxy ? text_refusal({status, "", "<!DOCTYPE html><title>Error (Server Error)</title>"})
            : json_refusal({status, reason, cat("Scripted fault ", status, ".")});
  if (retry_after_s) answer.headers.emplace_back("Retry-After", std::to_string(*retry_after_s));
  return answer;
}

// Moves the places of a fault into the body of the answer.
WireFault fitted(WireFault fault, size_t size) {
  for (auto* place : {&fault.cut_after, &fault.flip_byte, &fault.stall_at}) {
    if (*place && **place >= size) *place = size > 0 ? std::optional(**place % size) : std::nullopt;
  }
  return fault;
}

}  // namespace

FakeGcs::FakeGcs(const FakeGcsOptions& options)
    : options_(options),
      server_([this](const ServedRequest& request) { return answer(request); },
              {.latency_s = options.latency_s,
               .bytes_per_second = options.bytes_per_second,
               .cut_body = [this](const ServedRequest& request) { return begin(request); }}) {
  for (const std::string& bucket : options.buckets) objects_.add_bucket(bucket);
}

uint64_t FakeGcs::put(const std::string& name, std::string bytes,
                      const std::string& content_encoding) {
  FakeObject object{.bucket = options_.buckets.front(),
                    .name = name,
                    .crc32c = crc32c(as_bytes(bytes)),
                    .content_type = "application/octet-stream",
                    .content_encoding = content_encoding};
  object.content = std::make_shared<FakeContent>(std::move(bytes));
  return objects_.put(std::move(object), {}).generation;
}

std::optional<FakeObject> FakeGcs::find(const std::string& name) const {
  const std::string& bucket = options_.buckets.front();
  if (!objects_.holds(bucket, name)) return std::nullopt;
  return objects_.get(bucket, name, {});
}

std::optional<std::string> FakeGcs::get(const std::string& name) const {
  const auto object = find(name);
  return object ? std::optional(std::string(object->content->bytes().view())) : std::nullopt;
}

std::optional<uint64_t> FakeGcs::generation(const std::string& name) const {
  const auto object = find(name);
  return object ? std::optional(object->generation) : std::nullopt;
}

void FakeGcs::erase(const std::string& name) { objects_.erase(options_.buckets.front(), name, {}); }

std::vector<std::string> FakeGcs::names(const std::string& prefix) const {
  std::vector<std::string> found;
  for (const FakeObject& object : objects_.list(options_.buckets.front(), prefix, "")) {
    found.push_back(object.name);
  }
  return found;
}

void FakeGcs::require_token(std::optional<std::string> token) {
  const std::lock_guard lock(mutex_);
  token_ = std::move(token);
}

void FakeGcs::deny(const std::string& permission) {
  const std::lock_guard lock(mutex_);
  denied_.insert(permission);
}

void FakeGcs::allow(const std::string& permission) {
  const std::lock_guard lock(mutex_);
  denied_.erase(permission);
}

std::vector<SeenRequest> FakeGcs::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

size_t FakeGcs::count(GcsCall call) const {
  const std::lock_guard lock(mutex_);
  return static_cast<size_t>(
      std::count_if(requests_.begin(), requests_.end(),
                    [&](const SeenRequest& request) { return request.call == call; }));
}

void FakeGcs::forget_requests() {
  const std::lock_guard lock(mutex_);
  requests_.clear();
}

// Parses the target: /storage/v1/b/B/o/OBJ, /download/storage/v1/..., /upload/storage/v1/b/B/o, and
// /B/OBJ of the XML API.
FakeGcs::Route FakeGcs::route(const ServedRequest& request) {
  std::vector<std::string> parts = segments(request.path);
  const bool download = !parts.empty() && parts[0] == "download";
  const bool upload = !parts.empty() && parts[0] == "upload";
  if (download || upload) parts.erase(parts.begin());
  const bool json =
      parts.size() >= 3 && parts[0] == "storage" && parts[1] == "v1" && parts[2] == "b";
  if (!json) {
    if (parts.size() < 2) return {};
    const size_t slash = request.path.find('/', 1);
    return {.bucket = parts[0], .object = percent_decoded(request.path.substr(slash + 1))};
  }
  if (parts.size() < 5 || parts[4] != "o") return {};
  Route found{.bucket = parts[3]};
  if (upload && parts.size() == 5) {
    found.object = request.parameter("name").value_or("");
    if (request.parameter("upload_id")) {
      found.call = session_call(request);
    } else if (request.method == "POST") {
      found.call = request.parameter("uploadType") == "resumable" ? GcsCall::kSessionStart
                                                                  : GcsCall::kUpload;
    }
  } else if (parts.size() == 5 && request.method == "GET") {
    found.call = GcsCall::kList;
  } else if (parts.size() == 6 && !upload) {
    found.object = parts[5];
    const bool media = download || request.parameter("alt") == "media";
    if (request.method == "GET") found.call = media ? GcsCall::kDownload : GcsCall::kMetadata;
    if (request.method == "DELETE") found.call = GcsCall::kDelete;
  } else if (parts.size() == 7 && parts[6] == "compose" && request.method == "POST") {
    found.call = GcsCall::kJoin;
    found.object = parts[5];
  }
  return found;
}

std::optional<uint64_t> FakeGcs::begin(const ServedRequest& request) {
  const Route route_of = route(request);
  const GcsFault fault = faults_.next(route_of.call, route_of.object);
  const std::lock_guard lock(mutex_);
  begun_[request.number] = fault;
  return fault.cut_upload;
}

ServedAnswer FakeGcs::answer(const ServedRequest& request) {
  const Route route_of = route(request);
  GcsFault fault;
  {
    const std::lock_guard lock(mutex_);
    fault = begun_.extract(request.number).mapped();
    requests_.push_back({route_of.call, request.method, request.target, route_of.object,
                         request.headers, request.body.size()});
  }
  if (fault.reset) return {.fault = {.reset = true}};
  ServedAnswer answer;
  try {
    if (fault.token_expired) throw GcsRefusal{401, "authError", "Invalid Credentials"};
    authorize(route_of, request);
    if (fault.session_gone != 0) {
      sessions_.lose(request.parameter("upload_id").value_or(""), fault.session_gone);
    }
    answer = fault.status != 0 ? faulty_answer(fault.status, fault.retry_after_s)
                               : perform(route_of, request, fault);
  } catch (const GcsRefusal& refusal) {
    answer = route_of.call == GcsCall::kDownload ? text_refusal(refusal) : json_refusal(refusal);
  }
  answer.fault = fitted(fault.answer, answer.body.size());
  answer.fault.reset = fault.lose_answer;
  return answer;
}

void FakeGcs::authorize(const Route& route, const ServedRequest& request) const {
  const std::lock_guard lock(mutex_);
  if (!token_) return;
  const auto given = request.header("Authorization");
  if (given == "Bearer " + *token_) return;
  const bool session = route.call == GcsCall::kChunk || route.call == GcsCall::kStatusQuery ||
                       route.call == GcsCall::kCancel;
  if (!given && session) return;  // the session's URI authorizes the request
  if (given) throw GcsRefusal{401, "authError", "Invalid Credentials"};
  throw GcsRefusal{401, "required",
                   "Anonymous caller does not have storage.objects.get access to the Google Cloud "
                   "Storage object. Permission 'storage.objects.get' denied on resource (or it may "
                   "not exist)."};
}

void FakeGcs::demand(const std::string& permission, const std::string& resource) const {
  const std::lock_guard lock(mutex_);
  if (!denied_.contains(permission)) return;
  throw GcsRefusal{
      403, "forbidden",
      cat(kAccount, " does not have ", permission, " access to the Google Cloud Storage ", resource,
          ". Permission '", permission, "' denied on resource (or it may not exist).")};
}

ServedAnswer FakeGcs::perform(const Route& route, const ServedRequest& request,
                              const GcsFault& fault) {
  const auto& [call, bucket, object] = route;
  switch (call) {
    case GcsCall::kMetadata:
    case GcsCall::kDownload: {
      demand("storage.objects.get", "object");
      const FakeObject found = objects_.get(bucket, object, GcsConditions::of(request));
      if (call == GcsCall::kMetadata) return json_answer(object_json(found));
      return download_answer(found, request, fault.whole_for_range);
    }
    case GcsCall::kList:
      demand("storage.objects.list", "bucket");
      return list(bucket, request);
    case GcsCall::kUpload:
    case GcsCall::kSessionStart:
    case GcsCall::kJoin:
      objects_.check_bucket(bucket);
      demand("storage.objects.create", "object");
      if (objects_.holds(bucket, object)) demand("storage.objects.delete", "object");
      if (call == GcsCall::kSessionStart) return sessions_.start(bucket, request);
      if (!request.complete) return {};
      if (call == GcsCall::kJoin) return join_objects(objects_, bucket, object, request);
      return upload_at_once(objects_, bucket, request, fault);
    case GcsCall::kChunk:
    case GcsCall::kStatusQuery:
      return sessions_.put(request, fault);
    case GcsCall::kCancel:
      return sessions_.cancel(request);
    case GcsCall::kDelete:
      demand("storage.objects.delete", "object");
      objects_.erase(bucket, object, GcsConditions::of(request));
      return {.status = 204};
    case GcsCall::kOther:
      break;
  }
  if (bucket.empty()) throw GcsRefusal{404, "notFound", "Not Found"};
  return xml_uploads_.answer(bucket, object, request);
}

// The token of the next page is the last name of this page, after a "+" if the next page is empty.
ServedAnswer FakeGcs::list(const std::string& bucket, const ServedRequest& request) const {
  const std::string token = request.parameter("pageToken").value_or("");
  Json page = {{"kind", "storage#objects"}};
  if (options_.endless == FakeGcsOptions::Endless::kEmpty) {
    page["nextPageToken"] = token + "+";
    return json_answer(to_text(page));
  }
  if (token.starts_with("+")) {
    page["nextPageToken"] = "=" + token.substr(1);
    return json_answer(to_text(page));
  }
  const std::string prefix = request.parameter("prefix").value_or("");
  const auto found = objects_.list(bucket, prefix, token.empty() ? "" : token.substr(1));
  const size_t wanted = std::stoull(request.parameter("maxResults").value_or("1000"));
  const size_t count = std::min({found.size(), wanted, options_.page_size});
  for (size_t i = 0; i < count; ++i) {
    page["items"].push_back(parse_json(object_json(found[i])));
  }
  if (count < found.size()) {
    const bool empty_next = options_.empty_middle_page && token.empty();
    page["nextPageToken"] = (empty_next ? "+" : "=") + found[count - 1].name;
  }
  if (options_.endless == FakeGcsOptions::Endless::kRepeated) page["nextPageToken"] = "=";
  return json_answer(to_text(page));
}

}  // namespace berth
