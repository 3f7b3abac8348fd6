#include "entrypoint/explain/option_files.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "entrypoint/explain/launch.h"
#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
namespace {

constexpr size_t kMostFileBytes = size_t{1} << 20, kLongestValue = size_t{1} << 14,
                 kMostValues = 10'000, kDeepestLevel = 32;

struct YamlLine {
  size_t number = 0;
  size_t indent = 0;
  std::string text{};  // behind the indentation, without a comment; empty: nothing
  std::string raw{};   // the whole line
};

[[noreturn]] void refuse_line(size_t number, const std::string& what) {
  throw Error(Code::kUsage, what, cat("line ", number),
              "berth reads plain YAML: mappings, lists and texts, without anchors and tags");
}

// Where a comment begins, or the end. `#` begins one at the start of a text or behind a blank.
size_t comment_at(std::string_view text) {
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool is_start = i == 0 || text[i - 1] == ' ' || text[i - 1] == '\t';
    if (quote != 0) {
      if (c == '\\' && quote == '"') {
        ++i;
      } else if (c == quote) {
        quote = 0;
      }
    } else if ((c == '"' || c == '\'') &&
               (is_start || std::string_view("[{,:").find(text[i - 1]) != text.npos)) {
      quote = c;
    } else if (c == '#' && is_start) {
      return i;
    }
  }
  return text.size();
}

YamlLine cut_line(std::string_view raw, size_t number) {
  while (raw.ends_with('\r')) raw.remove_suffix(1);
  YamlLine line{.number = number, .raw = std::string(raw)};
  line.indent = std::min(raw.find_first_not_of(' '), raw.size());
  std::string_view text = raw.substr(line.indent);
  text = text.substr(0, comment_at(text));
  line.text = std::string(trimmed(text));
  return line;
}

bool is_item(const YamlLine& line) { return line.text == "-" || line.text.starts_with("- "); }

// Reads flow collections and scalars, which stand on one line once lines are joined.
class FlowReader {
 public:
  FlowReader(std::string_view text, size_t number, size_t& values)
      : text_(text), number_(number), values_(values) {}

  OrderedJson read_all(size_t level) {
    OrderedJson value = read(level, false);
    skip_blanks();
    if (at_ < text_.size()) refuse_line(number_, "text follows the end of a value");
    return value;
  }

  // A key of a block mapping, and where the text behind its colon begins. false: there is none.
  bool read_key(std::string& key, size_t& behind) {
    if (!text_.empty() && (text_[0] == '"' || text_[0] == '\'')) {
      key = read_quoted();
      skip_blanks();
      if (at_ >= text_.size() || text_[at_] != ':') return false;
      behind = at_ + 1;
      return behind == text_.size() || text_[behind] == ' ';
    }
    for (size_t i = 0; i < text_.size(); ++i) {
      if (text_[i] != ':' || (i + 1 < text_.size() && text_[i + 1] != ' ')) continue;
      key = std::string(trimmed(text_.substr(0, i)));
      behind = i + 1;
      return !key.empty() && std::string_view("[{?&*!").find(key[0]) == std::string_view::npos;
    }
    return false;
  }

 private:
  char next() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip_blanks() {
    while (next() == ' ' || next() == '\t') ++at_;
  }

  OrderedJson read(size_t level, bool in_flow) {
    if (level > kDeepestLevel) refuse_line(number_, "the values nest deeper than 32 levels");
    if (++values_ > kMostValues) refuse_line(number_, "there are more than 10000 values");
    skip_blanks();
    if (next() == '[') return read_sequence(level);
    if (next() == '{') return read_mapping(level);
    if (next() == '"' || next() == '\'') return read_quoted();
    if (std::string_view("&*!%@`").find(next()) != std::string_view::npos && next() != 0) {
      refuse_line(number_, "an anchor, an alias or a tag is not read");
    }
    if (next() == '?' && (at_ + 1 == text_.size() || text_[at_ + 1] == ' ')) {
      refuse_line(number_, "a complex key is not read");
    }
    return read_plain(in_flow);
  }

  OrderedJson read_plain(bool in_flow) {
    const size_t begin = at_;
    while (at_ < text_.size()) {
      if (in_flow && std::string_view(",]}").find(next()) != std::string_view::npos) break;
      if (in_flow && next() == ':' && (at_ + 1 == text_.size() || text_[at_ + 1] == ' ')) break;
      ++at_;
    }
    const std::string word(trimmed(text_.substr(begin, at_ - begin)));
    if (word.empty() || word == "~" || word == "null") return nullptr;
    return word;
  }

  std::string read_quoted() {
    const char quote = text_[at_++];
    std::string word;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == quote && quote == '\'' && at_ + 1 < text_.size() && text_[at_ + 1] == '\'') {
        word += c;
        ++at_;
      } else if (c == quote) {
        ++at_;
        return word;
      } else if (c == '\\' && quote == '"' && at_ + 1 < text_.size()) {
        const char escaped = text_[++at_];
        word += escaped == 'n' ? '\n' : escaped == 't' ? '\t' : escaped;
      } else {
        word += c;
      }
    }
    refuse_line(number_, "a quote has no end on its line");
  }

  OrderedJson read_sequence(size_t level) {
    OrderedJson list = OrderedJson::array();
    ++at_;
    while (true) {
      skip_blanks();
      if (next() == ']') break;
      list.push_back(read(level + 1, true));
      skip_blanks();
      if (next() == ',') {
        ++at_;
      } else if (next() != ']') {
        refuse_line(number_, "a list in brackets has no end");
      }
    }
    ++at_;
    return list;
  }

  OrderedJson read_mapping(size_t level) {
    OrderedJson object = OrderedJson::object();
    ++at_;
    while (true) {
      skip_blanks();
      if (next() == '}') break;
      const OrderedJson key = read(level + 1, true);
      skip_blanks();
      if (!key.is_string()) refuse_line(number_, "a key in braces is not a text");
      OrderedJson value;
      if (next() == ':') {
        ++at_;
        value = read(level + 1, true);
      }
      object[key.get<std::string>()] = std::move(value);
      skip_blanks();
      if (next() == ',') {
        ++at_;
      } else if (next() != '}') {
        refuse_line(number_, "a mapping in braces has no end");
      }
    }
    ++at_;
    return object;
  }

  std::string_view text_;
  size_t at_ = 0;
  size_t number_;
  size_t& values_;
};

class YamlReader {
 public:
  explicit YamlReader(std::string_view text) {
    size_t number = 0;
    while (!text.empty()) {
      const size_t end = std::min(text.find('\n'), text.size());
      lines_.push_back(cut_line(text.substr(0, end), ++number));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }

  std::vector<OrderedJson> read() {
    std::vector<OrderedJson> documents;
    while (skip_to_text()) {
      if (is_document_mark()) {
        ++at_;
        continue;
      }
      documents.push_back(read_block(lines_[at_].indent, 1));
      if (skip_to_text() && !is_document_mark()) {
        refuse_line(lines_[at_].number, "the indentation fits no line above");
      }
    }
    return documents;
  }

 private:
  bool is_document_mark() const {
    const YamlLine& line = lines_[at_];
    return line.indent == 0 && (line.text == "---" || line.text == "...");
  }

  bool skip_to_text() {
    while (at_ < lines_.size() && lines_[at_].text.empty()) ++at_;
    if (at_ == lines_.size()) return false;
    if (lines_[at_].raw[lines_[at_].indent] == '\t') {
      refuse_line(lines_[at_].number, "a tab stands before the text");
    }
    return true;
  }

  bool is_at(size_t indent) {
    return skip_to_text() && !is_document_mark() && lines_[at_].indent == indent;
  }

  OrderedJson read_block(size_t indent, size_t level) {
    if (level > kDeepestLevel) {
      refuse_line(lines_[at_].number, "the values nest deeper than 32 levels");
    }
    if (++values_ > kMostValues) {
      refuse_line(lines_[at_].number, "there are more than 10000 values");
    }
    if (is_item(lines_[at_])) return read_items(indent, level);
    std::string key;
    size_t behind = 0;
    if (FlowReader(lines_[at_].text, lines_[at_].number, values_).read_key(key, behind)) {
      return read_members(indent, level);
    }
    return read_value(lines_[at_].text, indent == 0 ? 0 : indent - 1, level);
  }

  OrderedJson read_items(size_t indent, size_t level) {
    OrderedJson list = OrderedJson::array();
    while (is_at(indent) && is_item(lines_[at_])) {
      YamlLine& line = lines_[at_];
      const size_t begin = std::min(line.text.find_first_not_of(' ', 1), line.text.size());
      line.text.erase(0, begin);
      if (line.text.empty()) {
        ++at_;
        list.push_back(read_nested(indent, level, false));
      } else if (line.text[0] == '|' || line.text[0] == '>') {
        list.push_back(read_value(line.text, indent, level));
      } else {
        line.indent += begin;
        list.push_back(read_block(line.indent, level + 1));
      }
    }
    return list;
  }

  OrderedJson read_members(size_t indent, size_t level) {
    OrderedJson object = OrderedJson::object();
    while (is_at(indent) && !is_item(lines_[at_])) {
      const YamlLine line = lines_[at_];
      std::string key;
      size_t behind = 0;
      if (!FlowReader(line.text, line.number, values_).read_key(key, behind)) {
        refuse_line(line.number, "there is no key with a colon");
      }
      const std::string rest(trimmed(std::string_view(line.text).substr(behind)));
      if (rest.empty()) {
        ++at_;
        object[key] = read_nested(indent, level, true);
      } else {
        object[key] = read_value(rest, indent, level);
      }
    }
    return object;
  }

  // What stands below a key or a dash that ends its line.
  OrderedJson read_nested(size_t indent, size_t level, bool is_key) {
    if (!skip_to_text() || is_document_mark()) return nullptr;
    const YamlLine& line = lines_[at_];
    const bool is_list_of_key = is_key && line.indent == indent && is_item(line);
    if (line.indent <= indent && !is_list_of_key) return nullptr;
    return read_block(line.indent, level + 1);
  }

  // A value that begins on the current line with `text`, and may go on in lines further right.
  OrderedJson read_value(std::string text, size_t indent, size_t level) {
    const size_t number = lines_[at_].number;
    ++at_;
    if (text[0] == '|' || text[0] == '>') return read_block_scalar(text, indent);
    const bool is_flow = text[0] == '[' || text[0] == '{';
    while (skip_to_text() && !is_document_mark() &&
           (lines_[at_].indent > indent || (is_flow && !is_closed(text)))) {
      if (is_flow ? is_closed(text) : text[0] == '"' || text[0] == '\'') break;
      if (text.size() > kLongestValue) refuse_line(number, "a value is too long");
      text += " " + lines_[at_++].text;
    }
    return FlowReader(text, number, values_).read_all(level + 1);
  }

  static bool is_closed(const std::string& text) {
    int64_t open = 0;
    char quote = 0;
    for (size_t i = 0; i < text.size(); ++i) {
      const char c = text[i];
      if (quote != 0) {
        if (c == '\\' && quote == '"') {
          ++i;
        } else if (c == quote) {
          quote = 0;
        }
      } else if (c == '"' || c == '\'') {
        quote = c;
      } else if (c == '[' || c == '{') {
        ++open;
      } else if (c == ']' || c == '}') {
        --open;
      }
    }
    return open <= 0;
  }

  OrderedJson read_block_scalar(const std::string& mark, size_t indent) {
    const bool is_folded = mark[0] == '>';
    std::string text;
    size_t own_indent = 0;
    for (; at_ < lines_.size(); ++at_) {
      const YamlLine& line = lines_[at_];
      const bool is_blank = trimmed(line.raw).empty();
      if (!is_blank && line.indent <= indent) break;
      if (!is_blank && own_indent == 0) own_indent = line.indent;
      const std::string_view raw = line.raw;
      text += raw.substr(std::min(own_indent, raw.size()));
      text += is_folded && !is_blank ? ' ' : '\n';
    }
    return std::string(trimmed(text)) + "\n";
  }

  std::vector<YamlLine> lines_;
  size_t at_ = 0, values_ = 0;
};

}  // namespace

std::vector<OrderedJson> parse_yaml(std::string_view text) {
  if (text.size() > kMostFileBytes) {
    throw Error(Code::kUsage, "the file is larger than 1 MiB", "", "give its options as flags");
  }
  return YamlReader(text).read();
}

namespace {

// Members of a JSON object are looked up one by one, so that large files would take long.
constexpr size_t kLargestOptions = size_t{256} << 10;

bool is_options_name(std::string_view word) {
  return word.ends_with(".json") || word.ends_with(".yaml") || word.ends_with(".yml");
}

class OptionFiles {
 public:
  OptionFiles(const ReadFile& read_file, Launch& launch) : read_file_(read_file), launch_(launch) {}

  void read() {
    read_arguments();
    read_accelerate();
    read_deepspeed();
  }

 private:
  std::optional<OrderedJson> options_in(const std::string& path) {
    return read_options(read_file_, path, launch_);
  }

  bool types(std::string_view name) const {
    return std::ranges::any_of(launch_.flags, [&](const std::string& word) {
      if (!word.starts_with("--")) return false;
      std::string typed = word.substr(2, word.find('=') - 2);
      std::ranges::replace(typed, '-', '_');
      return typed == name;
    });
  }

  void add_flag(const std::string& name, const std::string& value) {
    if (!types(name)) launch_.add_flag(name, value);
  }

  // HfArgumentParser takes a file of arguments where it is the only word.
  void read_arguments() {
    if (launch_.flags.size() != 1 || !is_options_name(launch_.flags[0]) || !read_file_) return;
    const std::string path = launch_.flags[0];
    if (!read_file_(path)) return;
    const std::optional<OrderedJson> options = options_in(path);
    launch_.flags.clear();
    if (!options) return;
    for (const auto& [name, value] : options->items()) {
      if (value.is_null()) continue;
      launch_.add_flag(name, option_text(value));
    }
  }

  void read_accelerate() {
    if (launch_.config_file.empty()) return;
    const std::optional<OrderedJson> config = options_in(launch_.config_file);
    if (!config) return;
    const auto text = [&](const char* key) {
      return config->contains(key) ? option_text(config->at(key)) : std::string();
    };
    if (launch_.processes.empty()) {
      launch_.processes = text("num_processes");
      launch_.counts_all = true;
    }
    if (launch_.machines.empty() && text("num_machines") != "1") {
      launch_.machines = text("num_machines");
    }
    if (launch_.precision.empty()) launch_.precision = text("mixed_precision");
    if (launch_.precision == "false") launch_.precision = "no";  // YAML's no
    if (launch_.device == AskedDevice::kNotSaid) {
      const std::string kind = text("distributed_type");
      const bool is_cpu = lower_ascii(text("use_cpu")) == "true" || kind == "MULTI_CPU";
      if (is_cpu) {
        launch_.device = AskedDevice::kCpu;
      } else if (kind == "TPU" || kind == "XLA") {
        launch_.device = AskedDevice::kTpu;
      } else if (kind == "MULTI_GPU" || kind == "DEEPSPEED" || kind == "FSDP") {
        launch_.device = AskedDevice::kGpu;
      } else if (!kind.empty() && kind != "NO" && kind != "no" && kind != "false") {
        launch_.refuse("distributed_type", cat("is ", quoted(kind),
                                               ", and berth trains on CPUs, TPUs and GPUs of "
                                               "NVIDIA"));
      }
    }
    if (config->contains("deepspeed_config")) take_plugin(config->at("deepspeed_config"));
  }

  // DeepSpeed as accelerate's file sets it.
  void take_plugin(const OrderedJson& plugin) {
    if (!plugin.is_object()) return;
    for (const auto& [name, value] : plugin.items()) {
      const std::string text = option_text(value);
      if (text == "auto" || text == "none" || value.is_null()) continue;
      if (name == "gradient_accumulation_steps" && text != "1") add_flag(name, text);
      if (name == "gradient_clipping") add_flag("max_grad_norm", text);
      if (name == "deepspeed_config_file") {
        if (const auto config = options_in(text)) take_deepspeed(*config);
      }
    }
  }

  void read_deepspeed() {
    for (auto flag = launch_.flags.begin(); flag != launch_.flags.end(); ++flag) {
      if (!flag->starts_with("--deepspeed")) continue;
      const size_t equals = flag->find('=');
      const bool has_value = equals == std::string::npos && flag + 1 != launch_.flags.end();
      const std::string path = equals != std::string::npos ? flag->substr(equals + 1)
                               : has_value                 ? *(flag + 1)
                                                           : "";
      if (!is_options_name(path)) return;
      launch_.flags.erase(flag, flag + (has_value ? 2 : 1));
      if (const auto config = options_in(path)) take_deepspeed(*config);
      return;
    }
  }

  void take_deepspeed(const OrderedJson& config) {
    for (const auto& [name, value] : config.items()) {
      const std::string text = value.is_structured() ? "" : option_text(value);
      if (text == "auto") continue;
      if (name == "train_micro_batch_size_per_gpu") add_flag("per_device_train_batch_size", text);
      if (name == "gradient_accumulation_steps") add_flag(name, text);
      if (name == "gradient_clipping") add_flag("max_grad_norm", text);
      if (name == "train_batch_size" && !config.contains("train_micro_batch_size_per_gpu")) {
        add_flag("train_batch_size", text);
      }
      if (value.is_object() && value.contains("enabled") &&
          (name == "fp16" || name == "bf16" || name == "bfloat16") &&
          option_text(value.at("enabled")) == "true") {
        launch_.precision = "fp16";
      }
      if (name == "optimizer" && value.is_object()) take_optimizer(value);
      if (name == "scheduler" && value.is_object()) take_scheduler(value);
      constexpr std::string_view kOtherBatches =
          "curriculum_learning data_efficiency progressive_layer_drop compression_training";
      const bool is_on = value.is_object() && value.contains("enabled")
                             ? option_text(value.at("enabled")) == "true"
                             : name == "compression_training";
      if (is_one_of(kOtherBatches, name) && is_on) {
        launch_.refuse(name,
                       "changes the texts or the model during the training, and berth does not");
      }
    }
  }

  static const OrderedJson& parameters_of(const OrderedJson& section) {
    static const OrderedJson none = OrderedJson::object();
    const bool has = section.contains("params") && section.at("params").is_object();
    return has ? section.at("params") : none;
  }

  void take_optimizer(const OrderedJson& section) {
    const std::string type =
        section.contains("type") ? lower_ascii(option_text(section.at("type"))) : "";
    if (type == "lamb") {
      add_flag("optim", "lamb");
    } else if (type != "adam" && type != "adamw") {
      launch_.refuse("optimizer", cat("is ", quoted(type), " there; berth has adamw and lamb"));
    }
    for (const auto& [name, value] : parameters_of(section).items()) {
      const std::string text = option_text(value);
      if (text == "auto") continue;
      if (name == "lr") add_flag("learning_rate", text);
      if (name == "eps") add_flag("adam_epsilon", text);
      if (name == "weight_decay") add_flag("weight_decay", text);
      if (name == "betas" && value.is_array() && value.size() == 2) {
        add_flag("adam_beta1", option_text(value[0]));
        add_flag("adam_beta2", option_text(value[1]));
      }
    }
  }

  void take_scheduler(const OrderedJson& section) {
    const std::string type = section.contains("type") ? option_text(section.at("type")) : "";
    if (type == "WarmupLR") {
      add_flag("lr_scheduler_type", "constant_with_warmup");
    } else if (type != "WarmupDecayLR") {
      return launch_.refuse("scheduler",
                            cat("is ", quoted(type), " there, which berth does not have"));
    }
    const OrderedJson& parameters = parameters_of(section);
    std::string steps, shape = "log";
    for (const auto& [name, value] : parameters.items()) {
      const std::string text = option_text(value);
      if (name == "warmup_type") shape = text;
      if (text == "auto") continue;
      if (name == "warmup_num_steps") steps = text;
      if (name == "warmup_max_lr") add_flag("learning_rate", text);
    }
    if (!steps.empty()) add_flag("warmup_steps", steps);
    const bool warms_up = !steps.empty() || types("warmup_steps") || types("warmup_ratio");
    if (warms_up && steps != "0" && shape != "linear") {
      launch_.refuse("scheduler",
                     "has a warm-up that follows a logarithm, as DeepSpeed's does by default; "
                     "berth's is linear, as with \"warmup_type\": \"linear\"");
    }
  }

  const ReadFile& read_file_;
  Launch& launch_;
};

}  // namespace

std::string option_text(const OrderedJson& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_null()) return "none";
  if (!value.is_array()) return to_text(value);
  return joined(value, ",", option_text);
}

OrderedJson parse_options(const std::string& path, const std::string& text) {
  OrderedJson options;
  if (text.size() > kLargestOptions) {
    throw Error(Code::kUsage, "a file of options is larger than 256 KiB", path,
                "write them as flags");
  }
  if (path.ends_with(".json")) {
    options = parse_ordered_json(text);
  } else {
    std::vector<OrderedJson> documents = parse_yaml(text);
    if (documents.size() == 1) options = std::move(documents[0]);
  }
  if (!options.is_object()) {
    throw Error(Code::kUsage, "the file does not hold one mapping of options", path,
                "write them as flags");
  }
  return options;
}

std::optional<OrderedJson> read_options(const ReadFile& read_file, const std::string& path,
                                        Launch& launch) {
  const std::optional<std::string> text = read_file ? read_file(path) : std::nullopt;
  if (!text) {
    launch.refuse(path,
                  "is not a file here, and its options change the job; run berth explain where "
                  "the file is, or write them into the line");
    return std::nullopt;
  }
  try {
    return parse_options(path, *text);
  } catch (const Error& error) {
    launch.refuse(path, cat("is not read: ", error.what()));
    return std::nullopt;
  }
}

void read_option_files(const ReadFile& read_file, Launch& launch) {
  OptionFiles(read_file, launch).read();
}

}  // namespace berth
