#include "tests/support/fake_gcs_join.h"

#include <nlohmann/json.hpp>

#include "storage/base/checksum.h"
#include "storage/base/json.h"
#include "tests/support/fake_gcs_answers.h"
#include "tests/support/fake_gcs_uploads.h"

namespace berth {

ServedAnswer join_objects(FakeObjects& objects, const std::string& bucket, const std::string& name,
                          const ServedRequest& request) {
  const auto recipe = parse_json(request.body.view());
  const bool readable = recipe.is_object() && recipe.contains("sourceObjects") &&
                        recipe.at("sourceObjects").is_array();
  const size_t count = readable ? recipe.at("sourceObjects").size() : 0;
  if (count < 1 || count > 32) {
    throw GcsRefusal{400, "invalid", "The number of source components must be from 1 to 32."};
  }
  GcsIntent intent =
      intent_of(bucket, request, to_text(recipe.value("destination", Json::object())));
  intent.object.name = name;
  std::vector<std::shared_ptr<FakeContent>> contents;
  std::vector<FakeObject> sources;
  for (const auto& source : recipe.at("sourceObjects")) {
    GcsConditions conditions;
    if (source.contains("generation")) {
      conditions.generation = std::stoull(source.at("generation").get<std::string>());
    }
    sources.push_back(objects.get(bucket, source.at("name").get<std::string>(), conditions));
    const FakeObject& found = sources.back();
    contents.push_back(found.content);
    intent.object.crc32c =
        crc32c_combine(intent.object.crc32c, found.crc32c, found.content->size());
  }
  intent.object.content = FakeContent::joined(contents);
  const FakeObject made = objects.put(std::move(intent.object), intent.conditions);
  if (recipe.value("deleteSourceObjects", false)) {
    for (const FakeObject& source : sources) {
      GcsConditions same;
      same.generation = source.generation;
      objects.erase(bucket, source.name, same);
    }
  }
  return json_answer(object_json(made));
}

}  // namespace berth
