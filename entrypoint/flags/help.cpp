#include "entrypoint/flags/help.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "entrypoint/flags/flag_table.h"
#include "entrypoint/flags/foreign/foreign_flag.h"
#include "storage/base/json.h"
#include "storage/base/text.h"

namespace berth {
namespace {

constexpr const char* kExample =
    "berth --train-data-file train.csv --job-dir runs/first --epochs 1 --batch-size 32";

constexpr FlagGroup kShownGroups[] = {
    FlagGroup::kData,         FlagGroup::kModel,   FlagGroup::kTraining,
    FlagGroup::kOptimization, FlagGroup::kSaving,  FlagGroup::kTools,
    FlagGroup::kOutput,       FlagGroup::kStorage, FlagGroup::kMachine};

struct ExitCode {
  const char *code, *meaning;
};
constexpr ExitCode kExitCodes[] = {
    {"0", "finished"},
    {"1", "internal error"},
    {"2", "wrong flag or configuration, or a disk that is too small"},
    {"3", "bad or damaged input data"},
    {"4", "not found or not permitted"},
    {"5", "the job directory or a checkpoint belongs to another job"},
    {"6", "job directory in use by another process"},
    {"10", "storage stayed unavailable, or the disk is full"},
    {"11", "another worker was lost or did not come"},
    {"12", "no sign of life for --step-timeout, or --mode heartbeat found no living training"},
    {"13", "diverged: the loss is not a finite number"},
    {"14", "the job needs more memory than there is"},
    {"143", "stopped by SIGTERM or SIGINT; saved if the time was sufficient"},
};

// The default as help shows it. Empty if there is none to show, as for --help itself.
std::string default_text(const Flag& flag) {
  const std::string text =
      flag.default_text.empty() ? flag.value.get(CommandLine{}) : flag.default_text;
  return text == "false" && !flag.role.is_recorded() ? "" : text;
}

std::string left_column(const Flag& flag) {
  return "--" + flag.name + (flag.value.hint.empty() ? "" : " " + flag.value.hint);
}

std::string typed_name(std::string name) {
  std::ranges::replace(name, '-', '_');  // the programs that the alias comes from use underscores
  return "--" + name;
}

std::string joined_aliases(const Flag& flag) {
  return joined(flag.aliases, ", ", [&](const std::string& alias) { return typed_name(alias); });
}

// Appends `text` word by word from column `column` on, with later lines indented to `indent`.
void append_wrapped(std::string& out, const std::string& text, size_t column, size_t indent,
                    size_t width) {
  size_t begin = 0;
  bool first = true;
  while (begin < text.size()) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    const size_t length = end - begin;
    if (!first && column + 1 + length > width) {
      out += '\n' + std::string(indent, ' ');
      column = indent;
    } else if (!first) {
      out += ' ';
      ++column;
    }
    out.append(text, begin, length);
    column += length;
    first = false;
    begin = end + 1;
  }
  out += '\n';
}

void append_flag(std::string& out, const Flag& flag, size_t width) {
  constexpr size_t kIndent = 30;
  std::string left = "  " + left_column(flag);
  if (left.size() + 2 > kIndent) {
    out += left + '\n';
    left.clear();
  }
  left.resize(kIndent, ' ');
  out += left;
  std::string text = flag.help;
  const std::string preset = default_text(flag);
  if (!preset.empty()) text += " (default: " + preset + ")";
  if (!flag.aliases.empty()) text += " [also " + joined_aliases(flag) + "]";
  append_wrapped(out, text, kIndent, kIndent, width);
}

// The flags for which `is_shown` holds, in groups.
template <typename IsShown>
void append_flags(std::string& out, size_t width, const IsShown& is_shown) {
  for (const FlagGroup group : kShownGroups) {
    std::string flags;
    for (const Flag& flag : flag_table()) {
      if (flag.group == group && is_shown(flag)) append_flag(flags, flag, width);
    }
    if (!flags.empty()) out += cat("\n", heading(group), ":\n", flags);
  }
}

std::string help_of(const ModeTraits& mode, size_t width) {
  std::string out;
  append_wrapped(out, cat("berth ", mode.name, " ", mode.purpose, "."), 0, 0, width);
  out += cat("\n  ", mode.example, "\n");
  Settings settings;
  settings.mode = mode.mode;
  append_flags(out, width, [&](const Flag& flag) {
    return flag.role.is_used(settings) && &flag != find_flag("mode");
  });
  return out + "\nberth --help lists all flags and exit codes.\n";
}

// A cell of a Markdown table.
std::string cell(std::string text) {
  for (size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2)
    text.insert(at, "\\");
  return text;
}

}  // namespace

std::string usage_text() {
  return cat(
      "berth fine-tunes a BERT encoder: it reads a data file and writes a finished model.\n\n  ",
      kExample, R"(

trains the bundled encoder on a table with the columns text and label, evaluates it on rows that it
held out, and writes runs/first/model, which Hugging Face transformers loads. Then

  berth predict --predict-data-file new.csv --job-dir runs/first

labels the rows of another table.

  berth explain 'python run_glue.py --task_name mrpc ...'   shows what a line for another program is
  berth inspect FILE                                        describes a data file or a model
  berth bench                                               shows how fast this machine trains and predicts
  berth --help                                              lists all flags and exit codes
)");
}

std::string help_text(int columns, std::optional<Mode> mode) {
  const auto width = static_cast<size_t>(std::clamp(columns, 60, 120));
  if (mode) return help_of(traits(*mode), width);
  std::string out;
  append_wrapped(
      out, "berth fine-tunes a BERT encoder: it reads a data file and writes a finished model.", 0,
      0, width);
  out += cat("\n  ", kExample, "\n\n");
  append_wrapped(out,
                 "train.csv has the columns text and label. Then berth predict --predict-data-file "
                 "new.csv --job-dir runs/first labels the rows of another table. berth predict "
                 "--help shows the flags of that mode alone, and berth without arguments more ways "
                 "to begin.",
                 0, 0, width);
  out += '\n';
  append_wrapped(
      out,
      "A file or directory is a path or a URI. A flag is written --x VALUE or --x=VALUE, with - or "
      "_ between its words; a switch is written --x, --no-x or --x=false. If a flag is repeated, "
      "the last one counts.",
      0, 0, width);
  append_flags(out, width, [](const Flag&) { return true; });
  out += '\n';
  append_wrapped(
      out,
      "The flags of Hugging Face's Trainer and example scripts, google-research/bert and "
      "TensorFlow Model Garden work, too, or an error says what to use instead. berth explain "
      "'python run_glue.py ...' prints the line for berth and what becomes of each flag. It runs "
      "nothing; exit code 2 means that a flag stands in the way.",
      0, 0, width);
  out += "\nExit codes (do not retry 2-5, 13 and 14):\n";
  for (const ExitCode& row : kExitCodes) {
    constexpr size_t kIndent = 8;
    out += cat("  ", row.code);
    out.append(kIndent - 2 - std::string_view(row.code).size(), ' ');
    append_wrapped(out, row.meaning, kIndent, kIndent, width);
  }
  return out;
}

std::string help_markdown() {
  std::string out;
  for (const FlagGroup group : kShownGroups) {
    out += cat(out.empty() ? "" : "\n", "**", heading(group),
               "**\n\n| flag | meaning | default | also |\n| --- | --- | --- | --- |\n");
    for (const Flag& flag : flag_table()) {
      if (flag.group != group) continue;
      const std::string aliases = joined_aliases(flag);
      out +=
          cat("| `", cell(left_column(flag)), "` | ", cell(flag.help), " | ",
              cell(default_text(flag)), " | ", aliases.empty() ? "" : "`" + aliases + "`", " |\n");
    }
  }
  return out;
}

std::string help_json() {
  OrderedJson flags = OrderedJson::array();
  for (const Flag& flag : flag_table()) {
    if (flag.group == FlagGroup::kHidden) continue;
    OrderedJson tasks = OrderedJson::array();
    for (const TaskTraits& task : task_table()) {
      if (flag.role.is_heeded_by(task.task)) tasks.push_back(task.names[0]);
    }
    flags.push_back({{"name", flag.name},
                     {"aliases", flag.aliases},
                     {"group", heading(flag.group)},
                     {"value", flag.value.hint},
                     {"switch", flag.value.is_switch},
                     {"default", default_text(flag)},
                     {"tasks", tasks},
                     {"help", flag.help}});
  }
  OrderedJson translated = OrderedJson::object();
  for (const ForeignFlag& flag : foreign_flags()) {
    std::string name(flag.name);
    std::ranges::replace(name, '_', '-');
    translated[name] = flag.fate == Fate::kSame ? flag.text : "";
  }
  return to_text(OrderedJson{{"flags", flags}, {"translated", translated}}) + "\n";
}

std::string version_text() {
#ifdef NDEBUG
  constexpr const char* kBuild = "release";
#else
  constexpr const char* kBuild = "debug";
#endif
  return cat("berth ", BERTH_VERSION, " (", kBuild, " build, ", sizeof(void*) * 8,
             "-bit, compiler ", __VERSION__, ")");
}

}  // namespace berth
