#pragma once

#include <string>

#include "tests/support/fake_gcs_objects.h"
#include "tests/support/http_server.h"

namespace berth {

// POST .../o/NAME/compose: `name` becomes the request's sourceObjects one after the other, which
// are removed where deleteSourceObjects says so.
ServedAnswer join_objects(FakeObjects& objects, const std::string& bucket, const std::string& name,
                          const ServedRequest& request);

}  // namespace berth
