#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "entrypoint/explain/notebook.h"
#include "entrypoint/explain/python_job.h"
#include "entrypoint/explain/python_reader.h"
#include "entrypoint/explain/script_defaults.h"
#include "storage/base/text.h"

namespace berth {
namespace {

// Whether the line has the flag that the remark is about, or one that its sentence asks for: "add
// --model NAME to the line".
bool is_answered(const Remark& remark, const std::vector<std::string>& flags) {
  std::string name = remark.flag;
  std::ranges::replace(name, '_', '-');
  const std::string sentence = cat("--", name, " ", remark.text);
  return std::ranges::any_of(flags, [&](const std::string& word) {
    if (!word.starts_with("--")) return false;
    std::string flag = word.substr(0, word.find('='));
    std::ranges::replace(flag, '_', '-');
    const size_t at = sentence.find(flag);
    const size_t end = at + flag.size();
    return at != std::string::npos &&
           (end == sentence.size() ||
            std::string_view(" ,;").find(sentence[end]) != std::string::npos);
  });
}

// Whether a program takes flags, which may say what it trains.
bool reads_arguments(const std::string& code) {
  constexpr std::array<std::string_view, 8> kReaders = {
      "ArgumentParser", "parse_args", "argv", "absl", "click", "fire", "hydra", "typer"};
  return std::ranges::any_of(
      kReaders, [&](std::string_view reader) { return code.find(reader) != code.npos; });
}

}  // namespace

void read_program(const ReadFile& read_file, Launch& launch) {
  if (!read_file || launch.path.empty() || is_known_script(launch.script)) return;
  const std::optional<std::string> text = read_file(launch.path);
  if (!text && launch.path.ends_with(".py")) {
    launch.remark(launch.path, "is not a file here; run berth explain where it is, to read it");
  }
  if (!text) return;
  const bool is_notebook = launch.path.ends_with(".ipynb");
  const std::string code = is_notebook ? notebook_program(*text) : *text;
  std::optional<Launch> job = find_python_job(code, launch.flags);
  const TypedCommand typed(launch.flags);
  launch.lacks_training = !job && launch.flags.empty() && !reads_arguments(code);
  if (!job) return;
  launch.script = job->script;
  launch.gathers_rows = job->gathers_rows;
  if (!job->masked.empty()) {
    launch.mask_gpus(job->masked);
  } else if (job->device != AskedDevice::kNotSaid) {
    launch.device = job->device;
    launch.visible = job->visible;
  }
  for (Remark& remark : job->remarks) {
    if (!is_answered(remark, launch.flags)) launch.remarks.push_back(std::move(remark));
  }
  std::vector<std::string> flags = std::move(job->flags);
  // Rows that the line names take the place of the program's.
  const auto leave_out = [&](std::string_view known,
                             std::initializer_list<std::string_view> names) {
    if (!typed.value(known)) return;
    std::erase_if(flags, [&](const std::string& flag) {
      return std::ranges::any_of(names, [&](auto name) { return flag.starts_with(name); });
    });
  };
  leave_out("train-source", {"--train-source="});
  leave_out("train-data-file", {"--dataset_name=", "--dataset_config_name="});
  const bool evaluates = std::ranges::any_of(flags, [](const std::string& flag) {
    return flag == "--do_eval=true" || (flag.find("_strategy=") != flag.npos &&
                                        flag.starts_with("--eval") && !flag.ends_with("=no"));
  });
  if (typed.value("train-data-file") && evaluates && !typed.value("eval-data-file") &&
      TypedCommand(flags).value("eval-data-file") == std::nullopt) {
    launch.refuse("--train-data-file",
                  "names the rows to train on, and the program evaluates on others; add "
                  "--eval-data-file FILE to the line");
  }
  flags.insert(flags.end(), launch.flags.begin(), launch.flags.end());
  launch.flags = std::move(flags);
}

}  // namespace berth
