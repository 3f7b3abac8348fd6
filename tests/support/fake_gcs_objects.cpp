#include "tests/support/fake_gcs_objects.h"

#include <charconv>

#include "storage/base/clock.h"
#include "storage/base/text.h"

namespace berth {
namespace {

std::optional<uint64_t> number(const ServedRequest& request, const std::string& name) {
  const auto text = request.parameter(name);
  if (!text) return std::nullopt;
  uint64_t value = 0;
  const char* end = text->data() + text->size();
  const auto parsed = std::from_chars(text->data(), end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end) {
    throw GcsRefusal{400, "invalid", cat("Invalid value for query parameter: ", name)};
  }
  return value;
}

GcsRefusal no_such_object(const std::string& bucket, const std::string& name) {
  return {404, "notFound", cat("No such object: ", bucket, "/", name)};
}

}  // namespace

std::shared_ptr<FakeContent> FakeContent::joined(
    const std::vector<std::shared_ptr<FakeContent>>& parts) {
  auto whole = std::make_shared<FakeContent>();
  for (const auto& part : parts) {
    const std::lock_guard lock(part->mutex_);
    whole->pieces_.insert(whole->pieces_.end(), part->pieces_.begin(), part->pieces_.end());
  }
  return whole;
}

uint64_t FakeContent::size() const {
  const std::lock_guard lock(mutex_);
  uint64_t size = 0;
  for (const auto& piece : pieces_) size += piece.size();
  return size;
}

SharedBytes FakeContent::bytes() {
  const uint64_t total = size();
  const std::lock_guard lock(mutex_);
  if (pieces_.size() == 1) return pieces_.front();
  std::string whole;
  whole.reserve(total);
  for (SharedBytes& piece : pieces_) whole += std::exchange(piece, {}).view();
  pieces_ = {std::move(whole)};
  return pieces_.front();
}

GcsConditions GcsConditions::of(const ServedRequest& request) {
  return {.generation = number(request, "generation"),
          .if_generation_match = number(request, "ifGenerationMatch"),
          .if_generation_not_match = number(request, "ifGenerationNotMatch"),
          .if_metageneration_match = number(request, "ifMetagenerationMatch")};
}

void GcsConditions::check(const std::string& bucket, const std::string& name,
                          const FakeObject* current) const {
  const uint64_t present = current != nullptr ? current->generation : 0;
  if (generation && *generation != present) throw no_such_object(bucket, name);
  const uint64_t meta = current != nullptr ? current->metageneration : 0;
  if ((if_generation_match && *if_generation_match != present) ||
      (if_metageneration_match && *if_metageneration_match != meta)) {
    throw GcsRefusal{412, "conditionNotMet",
                     "At least one of the pre-conditions you specified did not hold."};
  }
  if (if_generation_not_match && *if_generation_not_match == present) {
    throw GcsRefusal{304, "notModified", ""};
  }
}

void FakeObjects::add_bucket(const std::string& bucket) {
  const std::lock_guard lock(mutex_);
  buckets_.insert(bucket);
}

void FakeObjects::check_bucket(const std::string& bucket) const {
  const std::lock_guard lock(mutex_);
  if (!buckets_.contains(bucket)) {
    throw GcsRefusal{404, "notFound", "The specified bucket does not exist."};
  }
}

const FakeObject* FakeObjects::find(const std::string& bucket, const std::string& name) const {
  const auto found = objects_.find({bucket, name});
  return found == objects_.end() ? nullptr : &found->second;
}

FakeObject FakeObjects::get(const std::string& bucket, const std::string& name,
                            const GcsConditions& conditions) const {
  check_bucket(bucket);
  const std::lock_guard lock(mutex_);
  const FakeObject* current = find(bucket, name);
  if (current == nullptr) throw no_such_object(bucket, name);
  conditions.check(bucket, name, current);
  return *current;
}

bool FakeObjects::holds(const std::string& bucket, const std::string& name) const {
  const std::lock_guard lock(mutex_);
  return find(bucket, name) != nullptr;
}

void FakeObjects::check(const std::string& bucket, const std::string& name,
                        const GcsConditions& conditions) const {
  check_bucket(bucket);
  const std::lock_guard lock(mutex_);
  conditions.check(bucket, name, find(bucket, name));
}

FakeObject FakeObjects::put(FakeObject object, const GcsConditions& conditions) {
  check_bucket(object.bucket);
  const std::lock_guard lock(mutex_);
  conditions.check(object.bucket, object.name, find(object.bucket, object.name));
  object.generation = last_generation_ += 1021;
  object.updated = iso_time(wall_clock_s());
  return objects_[{object.bucket, object.name}] = std::move(object);
}

void FakeObjects::erase(const std::string& bucket, const std::string& name,
                        const GcsConditions& conditions) {
  check_bucket(bucket);
  const std::lock_guard lock(mutex_);
  const FakeObject* current = find(bucket, name);
  if (current == nullptr) throw no_such_object(bucket, name);
  conditions.check(bucket, name, current);
  objects_.erase({bucket, name});
}

std::vector<FakeObject> FakeObjects::list(const std::string& bucket, const std::string& prefix,
                                          const std::string& after) const {
  check_bucket(bucket);
  const std::lock_guard lock(mutex_);
  std::vector<FakeObject> found;
  for (auto at = objects_.upper_bound({bucket, after});
       at != objects_.end() && at->first.first == bucket; ++at) {
    if (at->first.second.starts_with(prefix)) found.push_back(at->second);
  }
  return found;
}

}  // namespace berth
