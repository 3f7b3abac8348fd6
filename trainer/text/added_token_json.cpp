#include "trainer/text/added_token_json.h"

#include <nlohmann/json.hpp>
#include <string>

namespace berth {

OrderedJson added_token_flags(const AddedToken& token) {
  return {{"content", token.content},       {"single_word", token.single_word},
          {"lstrip", token.lstrip},         {"rstrip", token.rstrip},
          {"normalized", token.normalized}, {"special", token.special}};
}

OrderedJson added_token_list(const std::vector<AddedToken>& tokens) {
  OrderedJson list = OrderedJson::array();
  for (const AddedToken& token : tokens) {
    list.push_back({{"id", token.id}});
    list.back().update(added_token_flags(token));
  }
  return list;
}

OrderedJson added_tokens_decoder(const std::vector<AddedToken>& tokens) {
  OrderedJson decoder = OrderedJson::object();
  for (const AddedToken& token : tokens) {
    decoder[std::to_string(token.id)] = added_token_flags(token);
  }
  return decoder;
}

}  // namespace berth
