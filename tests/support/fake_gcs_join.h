#pragma once

#include <string>

#include "tests/support/fake_gcs_objects.h"
#include "tests/support/http_server.h"

namespace berth {

// POST .../o/NAME/compose: makes `name` from the request's sourceObjects, one after the other. The
// sources are removed if deleteSourceObjects says so.
ServedAnswer join_objects(FakeObjects& objects, const std::string& bucket, const std::string& name,
                          const ServedRequest& request);

}  // namespace berth
