#include <algorithm>

#include "entrypoint/report/html/distribution_plots.h"
#include "entrypoint/report/html/job_page.h"
#include "entrypoint/report/html/markup.h"
#include "entrypoint/report/html/page.h"
#include "storage/base/checksum.h"
#include "storage/base/text.h"

namespace berth {
namespace {

constexpr size_t kMostSources = 200;

std::string row_of(const std::string& name, const std::string& value) {
  return cat("<tr><th scope=\"row\">", name, "</th><td>", value, "</td></tr>\n");
}

std::string source_table(const std::vector<Source>& sources) {
  if (sources.empty()) return "";
  std::string out =
      "<table class=\"words stack\"><caption>Files that were read. The checksum is CRC-32C of the "
      "bytes "
      "as stored.</caption><thead><tr><th scope=\"col\">used as</th><th scope=\"col\">file</th><th "
      "scope=\"col\" class=\"num\">bytes</th><th scope=\"col\">checksum</th></tr></thead><tbody>\n";
  for (size_t i = 0; i < std::min(sources.size(), kMostSources); ++i) {
    const Source& source = sources[i];
    out += cat("<tr><td data-name=\"used as\">", isolated(source.role),
               "</td><td class=\"long\" data-name=\"file\">", isolated(source.uri),
               "</td><td class=\"num\" data-name=\"bytes\">",
               whole_number(static_cast<int64_t>(source.checksum.size)),
               "</td><td data-name=\"checksum\"><code>", crc_text(source.checksum.crc),
               "</code></td></tr>\n");
  }
  out += "</tbody></table>";
  std::string note;
  if (sources.size() > kMostSources) {
    note = cat("<p class=\"note\">The first ", kMostSources, " of ",
               whole_number(static_cast<int64_t>(sources.size())), "; job.json has all.</p>\n");
  }
  return scrolling("Files that were read", out) + note;
}

std::string preview_table(const std::vector<ShownRow>& rows) {
  constexpr size_t kLimit = 1000;
  if (rows.empty()) return "";
  std::string out =
      "<table class=\"words stack\"><caption>The first rows to train on, as the model takes them."
      "</caption><thead><tr><th scope=\"col\" class=\"num\">row</th><th scope=\"col\">text</th><th "
      "scope=\"col\">tokens</th><th scope=\"col\">label</th><th "
      "scope=\"col\">cut</th></tr></thead><tbody>\n";
  for (const ShownRow& row : rows) {
    std::string texts;
    for (const std::string& text : row.texts) {
      texts += cat(texts.empty() ? "" : "<br/>", isolated(text, kLimit));
    }
    out +=
        cat("<tr><td class=\"num\" data-name=\"row\">", whole_number(static_cast<int64_t>(row.row)),
            "</td><td class=\"long\" data-name=\"text\">", texts.empty() ? "–" : texts,
            "</td><td class=\"long\" data-name=\"tokens\">", isolated(row.tokens, kLimit), " (",
            whole_number(row.token_count), ")</td><td class=\"long\" data-name=\"label\">",
            isolated(row.label, kLimit), "</td><td data-name=\"cut\">",
            row.cut.empty() ? "–" : isolated(row.cut), "</td></tr>\n");
  }
  return scrolling("The first rows to train on", out + "</tbody></table>");
}

std::string length_figure(const TokenLengths& found) {
  Histogram histogram = histogram_of(found.lengths, /*least_width=*/1);
  histogram.title = found.are_windows ? "Tokens of each sequence" : "Tokens of each text";
  histogram.x_name = "tokens, with special tokens";
  const auto limit = static_cast<double>(found.max_seq_length);
  const auto longer =
      std::ranges::count_if(found.lengths, [limit](double length) { return length > limit; });
  const auto full =
      std::ranges::count_if(found.lengths, [limit](double length) { return length >= limit; });
  const auto all = static_cast<double>(std::max<size_t>(1, found.lengths.size()));
  if (longer > 0 || full > 0) {
    histogram.line = limit;
    histogram.line_name = found.are_windows
                              ? cat("--max-seq-length ", found.max_seq_length, ", reached by ",
                                    percent_text(static_cast<double>(full) / all))
                              : cat("--max-seq-length ", found.max_seq_length, ", which cuts ",
                                    percent_text(static_cast<double>(longer) / all));
  }
  const std::string drawn = figure(histogram);
  if (drawn.empty()) return "";
  const auto seen = static_cast<int64_t>(found.lengths.size());
  return cat("<div class=\"plots\">", drawn, "</div>\n<p class=\"note\">", whole_number(seen),
             found.texts > seen ? cat(", evenly spaced, of ", whole_number(found.texts)) : "",
             found.are_windows ? " sequences of the data to train on." : " texts to train on.",
             " Longer texts ", found.are_windows ? "become several sequences" : "are cut", " at ",
             whole_number(found.max_seq_length), " tokens.</p>\n");
}

}  // namespace

std::string data_section(const JobFacts& facts) {
  std::string rows = row_of("to train on", whole_number(facts.plan.train_examples));
  if (facts.plan.eval_examples > 0) {
    rows += row_of(facts.eval_split == "eval" ? "to evaluate on" : "held out to evaluate on",
                   whole_number(facts.plan.eval_examples));
  }
  if (traits(facts.task).has_classes && facts.plan.num_labels > 0) {
    rows += row_of(traits(facts.task).labels == LabelKind::kTagPerWord ? "tags" : "classes",
                   whole_number(facts.plan.num_labels));
  }
  std::string out = cat("<table><caption>Examples</caption><tbody>\n", rows, "</tbody></table>\n");
  out += preview_table(facts.plan.rows);
  if (facts.lengths) out += length_figure(*facts.lengths);
  return section("Data", out + source_table(facts.record.sources));
}

std::string settings_section(const JobFacts& facts) {
  std::string changed, others;
  for (const Setting& setting : facts.record.settings) {
    const std::string &name = setting.name, &value = setting.value;
    const auto preset = std::ranges::find(facts.defaults, name, &Setting::name);
    const bool is_default = preset != facts.defaults.end() && preset->value == value;
    const std::string row =
        cat("<tr", is_default ? "" : " class=\"changed\"", "><th scope=\"row\">--", html_text(name),
            "</th><td>", value.empty() ? "–" : isolated(value, 1000), "</td></tr>\n");
    (is_default ? others : changed) += row;
  }
  const auto table = [](const char* name, const std::string& rows) {
    return scrolling(name, cat("<table class=\"settings words\"><caption>", name,
                               "</caption><tbody>\n", rows, "</tbody></table>"));
  };
  std::string out;
  if (!changed.empty()) out += table("Settings that differ from the defaults", changed);
  if (!others.empty()) {
    out += cat("<details><summary>Settings at their defaults</summary>",
               table("Settings at their defaults", others), "</details>\n");
  }
  const std::string machine = row_of("machine", isolated(facts.record.machine)) +
                              row_of("kernels", isolated(facts.record.kernels)) +
                              row_of("parameters", whole_number(facts.plan.parameters)) +
                              row_of("version", isolated(facts.record.version));
  out += cat("<table class=\"settings words\"><caption>Machine and model</caption><tbody>\n",
             machine, "</tbody></table>\n");
  return section("Settings", out);
}

}  // namespace berth
