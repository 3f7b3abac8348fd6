#include "entrypoint/report/html/retrieval_table.h"

#include "entrypoint/report/html/page.h"
#include "storage/base/text.h"

namespace berth {
namespace {

// A passage with its id above it.
std::string passage(const std::string& id, const std::string& text) {
  if (id.empty()) return "–";
  return cat("<small>", isolated(id, 80), "</small><br/>", isolated(text));
}

}  // namespace

std::string missed_query_table(std::span<const MissedQuery> missed) {
  if (missed.empty()) return "";
  std::string out =
      "<h3>Worst queries</h3>\n<table class=\"words stack\"><thead><tr><th scope=\"col\" "
      "class=\"num\">nDCG@10</th><th scope=\"col\">query</th><th scope=\"col\">wanted</th><th "
      "scope=\"col\" class=\"num\">its rank</th><th scope=\"col\">came first</th></tr></thead>"
      "<tbody>";
  for (const MissedQuery& miss : missed) {
    out +=
        cat("<tr><td class=\"num\" data-name=\"nDCG@10\">", score_text(miss.ndcg),
            "</td><td class=\"long\" data-name=\"query\">", passage(miss.id, miss.query),
            "</td><td class=\"long\" data-name=\"wanted\">", passage(miss.wanted_id, miss.wanted),
            "</td><td class=\"num\" data-name=\"its rank\">",
            miss.rank ? whole_number(*miss.rank) : "above 100",
            "</td><td class=\"long\" data-name=\"came first\">", passage(miss.first_id, miss.first),
            "</td></tr>\n");
  }
  return out + "</tbody></table>\n";
}

}  // namespace berth
