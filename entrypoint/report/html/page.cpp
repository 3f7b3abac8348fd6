#include "entrypoint/report/html/page.h"

#include <cmath>
#include <cstdlib>

#include "entrypoint/report/html/job_history.h"
#include "storage/base/clock.h"
#include "storage/base/secrets.h"
#include "storage/base/text.h"

namespace berth {
namespace {

// XML has no place for U+FFFE and U+FFFF, which are "\xEF\xBF\xBE" and "\xEF\xBF\xBF" in UTF-8.
bool is_no_character(std::string_view text, size_t at) {
  return text.substr(at, 2) == "\xEF\xBF" && at + 2 < text.size() &&
         static_cast<unsigned char>(text[at + 2]) >= 0xBE;
}

// "1234567" with commas between the thousands.
std::string grouped(std::string digits) {
  const size_t first = digits.starts_with('-') ? 1 : 0;
  for (size_t at = digits.size(); at > first + 3;) digits.insert(at -= 3, ",");
  return digits;
}

}  // namespace

std::string html_text(std::string_view text, size_t limit) {
  // A secret that begins before the cut is recognized by what stands behind it, too.
  constexpr size_t kBehindCut = 4096;
  std::string known = without_known_secrets(text.substr(0, limit + kBehindCut));
  const bool is_cut = known.size() > limit;
  known.resize(beginning(known, limit).size());
  const std::string shown = printable(known);
  std::string out;
  out.reserve(shown.size() + shown.size() / 8);
  for (size_t at = 0; at < shown.size(); ++at) {
    switch (shown[at]) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        if (is_no_character(shown, at)) {
          out += "\xEF\xBF\xBD";  // U+FFFD
          at += 2;
        } else {
          out += shown[at];
        }
    }
  }
  return is_cut ? out + "…" : out;
}

std::string isolated(std::string_view text, size_t limit) {
  return cat("<bdi>", html_text(text, limit), "</bdi>");
}

std::string json_for_block(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : printable_json(json)) {
    if (c == '<' || c == '>' || c == '&') {
      out += formatted("\\u%04x", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out;
}

double rounded(double value, int digits) {
  return std::strtod(formatted("%.*g", digits, value).c_str(), nullptr);
}

std::string rounded_text(double value, int digits) {
  if (!std::isfinite(value)) return "–";
  const double size = std::abs(value);
  if (size >= 10'000 && size < 1e15) return whole_number(std::llround(value));
  return formatted("%.*g", digits, value);
}

std::string score_text(double value) {
  return std::abs(value) <= 1 ? formatted("%.4f", value) : rounded_text(value);
}

std::string whole_number(int64_t value) { return grouped(std::to_string(value)); }

std::string percent_text(double share) {
  return std::isfinite(share) ? formatted("%.1f %%", 100 * share) : "–";
}

std::string span_of_time(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "–";
  if (seconds < 59.95) return formatted("%.1f s", seconds);
  const int64_t all = std::llround(seconds);
  if (all < 3600) return cat(all / 60, " min ", formatted("%02d s", static_cast<int>(all % 60)));
  const int64_t minutes = (all + 30) / 60;
  return cat(whole_number(minutes / 60), " h ",
             formatted("%02d min", static_cast<int>(minutes % 60)));
}

std::string moment_text(double wall_s) {
  if (!std::isfinite(wall_s) || wall_s <= 0 || wall_s > 1e11) return "–";
  const std::string iso = iso_time(wall_s);  // "2026-01-31T23:59:59.125Z"
  return cat(iso.substr(0, 10), " ", iso.substr(11, 5), " UTC");
}

namespace {

// The colours come from Okabe and Ito (2008); people with any colour vision can distinguish them.
// They are darker on white and lighter on black, so that their contrast is at least 4.5.
constexpr std::string_view kStyle = R"(
:root{--page:#fff;--text:#1b1f24;--soft:#57606a;--rule:#d5dae0;--panel:#f6f8fa;
--good:#1a6b3c;--bad:#a8321a;--right:11 95 165;--wrong:176 66 10;
--c0:#0b5fa5;--c1:#b0420a;--c2:#00735a;--c3:#8e4585;--c4:#7a5a00;--c5:#4d4d4d}
@media screen and (prefers-color-scheme:dark){:root{--page:#0e1116;--text:#e8ebef;--soft:#a4adb8;
--rule:#3a424c;--panel:#181d24;--good:#6fdc9b;--bad:#ff9c85;--right:88 166 240;--wrong:240 138 80;
--c0:#6cb6ff;--c1:#ff9e64;--c2:#4ecca3;--c3:#dda5e8;--c4:#e6c35c;--c5:#c4c9d0}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0 auto;max-width:1120px;padding:24px 20px 48px;background:var(--page);color:var(--text);
font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","Liberation Sans",sans-serif}
h1{font-size:1.7rem;line-height:1.2;margin:0 0 4px;overflow-wrap:anywhere}
h2{font-size:1.25rem;margin:40px 0 12px;padding-bottom:4px;border-bottom:1px solid var(--rule)}
h3{font-size:1rem;margin:0 0 6px}
table+.plots{margin-top:20px}
section>h3,section>.plots:not(:first-of-type){margin-top:24px}
p{margin:6px 0}
bdi{overflow-wrap:break-word}
p,.legend bdi,.sub bdi{overflow-wrap:anywhere}
.sub{color:var(--soft);margin:0 0 12px;overflow-wrap:anywhere}
.note{color:var(--soft);font-size:.875rem}
.state{display:inline-block;padding:2px 12px;border:1.5px solid currentColor;border-radius:999px;
font-weight:600;font-size:.9rem}
.state.finished{color:var(--good)}
.state.failed{color:var(--bad)}
.state.running,.state.stopped{color:var(--c0)}
.facts{display:flex;flex-wrap:wrap;gap:12px;margin:18px 0 0;padding:0}
.facts>div{flex:1 1 110px;max-width:340px;background:var(--panel);border:1px solid var(--rule);border-radius:8px;padding:10px 12px}
.facts dt{color:var(--soft);font-size:.875rem;overflow-wrap:anywhere}
.facts dd{margin:0;font-size:1.25rem;font-weight:650;line-height:1.25;font-variant-numeric:tabular-nums;
overflow-wrap:anywhere}
.facts dd small{display:block;font-size:.875rem;font-weight:400;color:var(--soft);line-height:1.4}
.facts .main{flex-basis:190px}
.facts .main dd{font-size:2.1rem}
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,440px),1fr));gap:28px 32px}
figure{margin:0;min-width:0}
figure>svg{display:block;width:100%;height:auto;max-width:560px}
svg text{font-size:14px;fill:var(--soft);font-variant-numeric:tabular-nums}
svg .grid{stroke:var(--rule);stroke-width:1;fill:none}
svg .axis{stroke:var(--soft);stroke-width:1;fill:none}
svg .line{fill:none;stroke:var(--c);stroke-width:2.2;stroke-linejoin:round}
svg .d1{stroke-dasharray:7 4}
svg .d2{stroke-dasharray:2 3}
svg .d3{stroke-dasharray:9 3 2 3}
svg text.mark{fill:var(--c);font-weight:700}
svg .faint{stroke-width:1.2;opacity:.45}
svg .band{fill:var(--c);opacity:.18}
svg .dot{fill:var(--c)}
svg .scatter{fill:var(--c);opacity:.55}
svg .bar{fill:var(--c);opacity:.72}
svg .best{fill:none;stroke:var(--text);stroke-width:1.8}
svg .baseline{fill:none;stroke:var(--soft);stroke-width:1.6;stroke-dasharray:6 4}
svg .resumed{fill:none;stroke:var(--c3);stroke-width:1.6;stroke-dasharray:2 3}
svg .checkpoint{fill:var(--soft)}
.c0{--c:var(--c0)}.c1{--c:var(--c1)}.c2{--c:var(--c2)}.c3{--c:var(--c3)}.c4{--c:var(--c4)}.c5{--c:var(--c5)}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:2px 16px;margin:4px 0 6px;padding:0;font-size:.875rem}
.legend li{display:flex;align-items:center;gap:6px;min-width:0}
.swatch{width:28px;height:14px;flex:none}
table{border-collapse:collapse;font-size:.9rem;font-variant-numeric:tabular-nums}
caption{text-align:start;color:var(--soft);font-size:.875rem;padding-bottom:6px}
th,td{padding:5px 12px 5px 0;text-align:end;vertical-align:top;border-bottom:1px solid var(--rule)}
th{font-weight:600}
th[scope=row],.words th,.words td{text-align:start}
thead th:first-child,thead td:first-child{text-align:start}
thead th{color:var(--soft);vertical-align:bottom}
.scroll{overflow:auto;max-height:34rem;max-width:100%;container-type:inline-size}
.scroll caption{position:sticky;inset-inline-start:0;max-inline-size:100cqi}
details .scroll{max-height:20rem}
.words{width:100%}
.words td{overflow-wrap:break-word}
.words td.long,.words td.long bdi,.settings td bdi{overflow-wrap:anywhere}
.words td.num,.words th.num{text-align:end;white-space:nowrap}
.stack td.long{width:60%}
.settings th[scope=row]{font-weight:400;white-space:nowrap;padding-inline-end:24px}
.settings .changed th[scope=row]{font-weight:600}
.matrix td,.matrix thead th{text-align:center;padding:6px 10px;min-width:3.2rem}
.matrix td{border:1px solid var(--rule)}
.matrix td.right{background:rgb(var(--right) / calc(var(--a) * .5))}
.matrix td.wrong{background:rgb(var(--wrong) / calc(var(--a) * .5))}
.matrix th[scope=row]{padding-inline-end:12px}
.matrix th bdi{display:inline-block;max-width:14rem}
details{margin:6px 0}
summary{cursor:pointer;color:var(--c0);font-size:.875rem;padding:4px 0}
:focus-visible{outline:2px solid var(--c0);outline-offset:2px}
code{font-family:ui-monospace,"Liberation Mono",monospace;font-size:.9em;overflow-wrap:anywhere}
footer{margin-top:48px;color:var(--soft);font-size:.875rem}
@media (max-width:640px){
body{padding:16px 14px 32px}
h1{font-size:1.35rem}
.facts{gap:8px}
.facts>div{flex-basis:132px;max-width:none}
.facts .main{flex-basis:100%}
.facts>div{padding:8px 10px}
.facts dd{font-size:1.2rem}
svg text{font-size:16px}
.stack thead{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
.stack,.stack tbody,.stack tr,.stack td.long{display:block;width:100%}
.stack td{display:inline-block;max-width:100%;margin-inline-end:16px}
.scroll:has(>.stack){max-height:none}
.stack tr{border-bottom:1px solid var(--rule);padding:8px 0}
.stack td,.words.stack td.num{border:0;padding:1px 0;text-align:start}
.stack caption{display:block}
.stack td::before{content:attr(data-name) ": ";color:var(--soft)}
}
@media print{
@page{margin:14mm}
body{max-width:none;padding:0;font-size:11pt}
.scroll{overflow:visible;max-height:none}
figure,.facts>div,tr{break-inside:avoid}
h2,h3{break-after:avoid}
.plots{grid-template-columns:1fr 1fr}
.state{-webkit-print-color-adjust:exact;print-color-adjust:exact}
td.right,td.wrong,svg{-webkit-print-color-adjust:exact;print-color-adjust:exact}
details:not([open]){display:none}
}
)";

}  // namespace

std::string html_page(std::string_view title, std::string_view body, std::string_view data) {
  const std::string block = data.empty() ? "" : cat(kHistoryBegin, data, kHistoryEnd, "\n");
  return cat(
      "<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\">\n<head>\n"
      "<meta charset=\"utf-8\"/>\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
      "<meta name=\"color-scheme\" content=\"light dark\"/>\n<title>",
      html_text(title), "</title>\n<style>", kStyle, "</style>\n</head>\n<body>\n", body, block,
      "</body>\n</html>\n");
}

std::string section(std::string_view heading, std::string_view content) {
  if (content.empty()) return "";
  return cat("<section>\n<h2>", html_text(heading), "</h2>\n", content, "</section>\n");
}

std::string scrolling(std::string_view name, std::string_view table) {
  return cat("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"", html_text(name),
             "\">", table, "</div>\n");
}

}  // namespace berth
