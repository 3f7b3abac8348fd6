#pragma once

#include <string>

#include "storage/storage.h"

namespace berth {

// What a flag like --model names. Returns `name` where it is an address, where something local has
// that name, and where the hub has no names of this form. Otherwise the hub is asked, and the
// model's hf:// URI is returned. Throws kNotFound, saying that neither exists, if the hub does not
// have the model, is offline, or has no address: the name may be a wrong path in a closed network,
// which is no reason to try again. Throws kUnavailable where a hub that is there does not answer.
std::string local_or_hub_model(Storage& storage, const std::string& name);

// The same without asking the hub: the URI where `name` can only be a name of the hub.
std::string local_or_hub_name(const std::string& name);

}  // namespace berth
