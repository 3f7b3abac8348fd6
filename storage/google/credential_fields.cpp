#include "storage/google/credential_fields.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "storage/google/secret_text.h"

namespace berth {
namespace {

constexpr size_t kDeepest = 8;  // limits the recursion of wipe_all()

void wipe_all(Json& value) {
  if (value.is_string()) wipe(value.get_ref<std::string&>());
  if (value.is_structured()) {
    for (Json& child : value) wipe_all(child);
  }
}

bool is_one_line(const std::string& text) {
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7F; });
}

}  // namespace

struct CredentialFields::Tree {
  explicit Tree(Json tree_root) : root(std::move(tree_root)) {}
  ~Tree() { wipe_all(root); }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  const Json* find(const std::string& name) const {
    const auto found = root.find(name);
    return found == root.end() || found->is_null() ? nullptr : &*found;
  }

  Json root;
};

CredentialFields::CredentialFields(std::string_view text, std::string file)
    : file_(std::move(file)) {
  const auto bad = [&](const std::string& what) {
    return Error(Code::kUsage, what, file_, "name a credential file in JSON");
  };
  // The parser would take a zero byte for the end of the text.
  if (text.find('\0') != std::string_view::npos) throw bad("is not JSON");
  if (nesting_depth(text) > kDeepest) throw bad("is nested too deeply for a credential file");
  Json root = parse_json(text);
  if (root.is_discarded()) throw bad("is not JSON");
  tree_ = std::make_unique<Tree>(std::move(root));
  if (!tree_->root.is_object()) throw bad("is not a JSON object");
}

CredentialFields::CredentialFields(std::unique_ptr<Tree> tree, std::string file, std::string prefix)
    : tree_(std::move(tree)), file_(std::move(file)), prefix_(std::move(prefix)) {}

CredentialFields::CredentialFields(CredentialFields&&) noexcept = default;
CredentialFields::~CredentialFields() = default;

bool CredentialFields::has(const std::string& name) const { return tree_->find(name) != nullptr; }

std::string CredentialFields::block(const std::string& name) const {
  const Json* const value = tree_->find(name);
  if (value == nullptr) fail(name, "is missing");
  if (!value->is_string()) fail(name, "is not text");
  if (value->get_ref<const std::string&>().empty()) fail(name, "is empty");
  return *value;
}

std::string CredentialFields::text(const std::string& name) const {
  std::string value = block(name);
  if (!is_one_line(value)) fail(name, "holds a control character");
  return value;
}

std::string CredentialFields::text(const std::string& name, const std::string& absent) const {
  return has(name) && *tree_->find(name) != "" ? text(name) : absent;
}

int64_t CredentialFields::integer(const std::string& name, int64_t absent) const {
  const Json* const value = tree_->find(name);
  if (value == nullptr) return absent;
  if (!value->is_number_integer()) fail(name, "is not an integer");
  return *value;
}

CredentialFields CredentialFields::object(const std::string& name) const {
  const Json* const value = tree_->find(name);
  if (value == nullptr) fail(name, "is missing");
  if (!value->is_object()) fail(name, "is not an object");
  return {std::make_unique<Tree>(*value), file_, prefix_ + name + "."};
}

std::vector<std::string> CredentialFields::texts(const std::string& name) const {
  std::vector<std::string> found;
  const Json* const list = tree_->find(name);
  if (list == nullptr) return found;
  if (!list->is_array()) fail(name, "is not a list");
  for (const Json& value : *list) {
    if (!value.is_string() || !is_one_line(value)) fail(name, "is not a list of texts");
    found.push_back(value);
  }
  return found;
}

std::vector<std::pair<std::string, std::string>> CredentialFields::members(
    const std::string& name) const {
  std::vector<std::pair<std::string, std::string>> found;
  if (!has(name)) return found;
  const CredentialFields object = this->object(name);
  for (const auto& [key, value] : object.tree_->root.items()) {
    if (key.empty() || !is_one_line(key)) fail(name, "has a member without a proper name");
    found.emplace_back(key, object.text(key));
  }
  return found;
}

void CredentialFields::fail(const std::string& name, const std::string& problem,
                            const std::string& hint) const {
  throw Error(Code::kUsage, cat("the field ", quoted(prefix_ + name), " ", problem), file_, hint);
}

}  // namespace berth
