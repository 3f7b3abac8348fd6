#include "entrypoint/explain/line_check.h"

#include <algorithm>

#include "entrypoint/flags/flags.h"
#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/storage.h"

namespace berth {
namespace {

bool holds_variable(const std::string& value) { return value.find('$') != std::string::npos; }

// Throws kUsage where berth cannot read or write at this address.
void check_address(const std::string& value) {
  if (value.find("://") == std::string::npos) return;
  const Uri uri = Uri::parse(value);
  const std::string& host = uri.host();
  const bool is_bucket = host.starts_with("s3.") || host.starts_with("s3-") ||
                         host.find(".s3.") != host.npos || host.find(".s3-") != host.npos ||
                         host.find(".blob.core.windows.net") != host.npos;
  if (uri.scheme().starts_with("http") && is_bucket) {
    throw Error(Code::kUsage, "berth does not log in to S3 or to Azure's storage", quoted(value),
                "copy the files to a disk or to gs://, and name them there");
  }
}

}  // namespace

void check_line(OwnCommand& own, bool expands, std::vector<Remark>& remarks) {
  std::vector<std::string> arguments;
  Platform platform;
  platform.home = "~";
  CommandLine scratch;
  scratch.home = platform.home;
  const std::vector<OwnCommand::Setting> settings = own.settings();
  for (auto [flag, value] : settings) {
    if (flag->name == "flagfile") {
      remarks.push_back({"--flagfile", "is not read here: name its flags instead", false});
      continue;
    }
    const std::string& hint = flag->value.hint;
    const bool is_place = hint == "FILE" || hint == "DIR" || hint == "PATH";
    if (expands && holds_variable(value) && !is_place) continue;
    if (expands && is_place) std::ranges::replace(value, '$', '_');
    try {
      if (is_place) check_address(value);
      flag->value.set(scratch, value);
      arguments.push_back(cat("--", flag->name, "=", value));
    } catch (const Error& error) {
      remarks.push_back({"--" + flag->name, error.what(), true});
      own.remove(flag->name);
    }
  }
  for (std::string input : own.inputs()) {
    if (expands) std::ranges::replace(input, '$', '_');
    arguments.push_back(std::move(input));
  }
  const auto is_refused = [](const Remark& remark) { return remark.refused; };
  if (std::ranges::any_of(remarks, is_refused)) return;
  std::vector<const char*> pointers;
  for (const std::string& argument : arguments) pointers.push_back(argument.c_str());
  try {
    parse_flags(pointers, platform);
  } catch (const Error& error) {
    remarks.push_back({"this line", error.what(), true});
  }
}

}  // namespace berth
