#include "entrypoint/report/event_files.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/formats/event_file.h"
#include "storage/formats/png.h"
#include "storage/whole_file.h"
#include "trainer/loop/training_state.h"

namespace berth {
namespace {

constexpr double kLeastPause_s = 10;
constexpr double kPartOfElapsed = 0.05;

void append(std::vector<std::byte>& bytes, const std::vector<std::byte>& more) {
  bytes.insert(bytes.end(), more.begin(), more.end());
}

// The index, from 0, of the epoch that ends when `epochs` epochs are done; nullopt: none ends
// there.
std::optional<int64_t> whole_epoch(double epochs) {
  const double whole = std::round(epochs);
  if (whole < 1 || std::abs(epochs - whole) > 1e-9) return std::nullopt;
  return static_cast<int64_t>(whole) - 1;
}

Scalar scalar(const std::string& tag, double value) { return {tag, static_cast<float>(value)}; }

}  // namespace

EventRun::EventRun(Storage& storage, Uri directory, std::string writer)
    : storage_(storage), directory_(std::move(directory)), writer_(std::move(writer)) {}

void EventRun::add(const std::vector<std::byte>& record) {
  const std::lock_guard lock(mutex_);
  append(pending_, record);
}

void EventRun::flush(double now_s) {
  std::vector<std::byte> records;
  {
    const std::lock_guard lock(mutex_);
    records.swap(pending_);
  }
  if (records.empty()) return;
  // The names keep their order even if the clock is set back.
  last_name_s_ = std::max(last_name_s_, now_s);
  const std::string name =
      formatted("events.out.tfevents.%010lld.%s.%06d", static_cast<long long>(last_name_s_),
                writer_.c_str(), counter_);
  try {
    store_object(storage_, directory_ / name, [&](ByteSink& sink) {
      sink.write(event_file_header(now_s));
      sink.write(records);
    });
  } catch (...) {
    const std::lock_guard lock(mutex_);
    pending_.insert(pending_.begin(), records.begin(), records.end());
    throw;
  }
  ++counter_;
}

EventFiles::EventFiles(Storage& storage, const Uri& summary_dir, EventFileOptions options)
    : options_(std::move(options)),
      job_(storage, summary_dir, options_.writer),
      train_(storage, summary_dir / "train", options_.writer),
      eval_(storage, summary_dir / "eval", options_.writer),
      probes_(storage, summary_dir / "probe"),
      began_s_(options_.steady_clock()),
      flushed_s_(began_s_) {}

EventFiles::~EventFiles() { flush(); }

void EventFiles::on_start(const JobReport& report) {
  const double now_s = options_.wall_clock();
  train_.add(text_event(now_s, report.first_step, "settings", options_.settings));
  if (!options_.hparams.empty()) job_.add(hparams_event(now_s, options_.hparams));
  is_whole_epoch_ = report.first_step == 0;
  try {
    train_.flush(now_s);
    job_.flush(now_s);
  } catch (const Error& error) {
    if (error.code() == Code::kNotPermitted) throw;
    log_warning(cat("the summaries could not be stored and will be tried again: ", error.what()));
  }
}

void EventFiles::on_step(const StepReport& report) {
  if (report.log) {
    const Scalar scalars[] = {scalar("loss", report.interval_loss),
                              scalar("learning_rate", report.learning_rate),
                              scalar("grad_norm", report.grad_norm),
                              scalar("examples_per_second", report.examples_per_second)};
    train_.add(scalar_event(options_.wall_clock(), report.step, scalars));
  }
  add_epoch(report);
  flush_when_due();
}

void EventFiles::add_epoch(const StepReport& report) {
  epoch_loss_ += report.loss * report.loss_weight;
  epoch_weight_ += report.loss_weight;
  const std::optional<int64_t> epoch = whole_epoch(report.epoch);
  if (!epoch) return;
  if (is_whole_epoch_) {
    const Scalar scalars[] = {scalar("epoch_loss", mean_loss(epoch_loss_, epoch_weight_)),
                              scalar("epoch_learning_rate", report.learning_rate)};
    train_.add(scalar_event(options_.wall_clock(), *epoch, scalars));
  }
  is_whole_epoch_ = true;
  epoch_loss_ = epoch_weight_ = 0;
}

void EventFiles::on_evaluation(const EvaluationReport& report) {
  std::vector<Scalar> scalars;
  if (report.has_loss) scalars.push_back(scalar("loss", report.loss));
  for (const auto& [name, value] : report.metrics) scalars.push_back(scalar(name, value));
  const std::vector<Scalar> own = scalars;
  for (const Scalar& value : own) {
    scalars.push_back({cat("evaluation_", value.tag, "_vs_iterations"), value.value});
  }
  const double now_s = options_.wall_clock();
  eval_.add(scalar_event(now_s, report.step, scalars));
  if (report.scores != nullptr) {
    for (const auto& record : class_events(now_s, report.step, *report.scores)) eval_.add(record);
  }
  if (const std::optional<int64_t> epoch = whole_epoch(report.epoch)) {
    std::vector<Scalar> of_epoch;
    for (const Scalar& value : own) of_epoch.push_back({"epoch_" + value.tag, value.value});
    eval_.add(scalar_event(now_s, *epoch, of_epoch));
  }
  flush_when_due();
}

void EventFiles::on_probes(const std::vector<ProbeReport>& reports) {
  probes_.add(reports, options_.wall_clock());
  flush_when_due();
}

void EventFiles::restore(const std::vector<ProbeReport>& reports) {
  probes_.restore(reports, options_.wall_clock());
}

void EventFiles::on_finish() {
  if (!options_.hparams.empty()) job_.add(hparams_end_event(options_.wall_clock()));
  flush();
  wait();
}

// Does nothing while the last write is still running. The next write includes the new records.
void EventFiles::flush_when_due() {
  const double now = options_.steady_clock();
  const double pause_s = std::max(kLeastPause_s, kPartOfElapsed * (now - began_s_));
  if (now - flushed_s_ < pause_s || !background_.idle()) return;
  flushed_s_ = now;
  flush();
}

void EventFiles::flush() {
  background_.submit([this, now_s = options_.wall_clock()] {
    const auto store = [](auto&& write) {
      try {
        write();
      } catch (const std::exception& error) {
        log_warning(
            cat("the summaries could not be stored and will be tried again: ", error.what()));
      }
    };
    for (EventRun* run : {&job_, &train_, &eval_}) store([&] { run->flush(now_s); });
    store([this] { probes_.flush(); });
  });
}

namespace {

std::vector<std::byte> event_file(int64_t step, const std::vector<ProbeReport>& reports,
                                  double now_s) {
  std::vector<Scalar> scalars;
  for (const ProbeReport& report : reports) {
    const std::string prefix = cat("probe/", report.name, "/");
    scalars.push_back({prefix + "loss", static_cast<float>(report.loss)});
    for (const auto& [name, value] : report.metrics) {
      scalars.push_back({prefix + name, static_cast<float>(value)});
    }
  }
  std::vector<std::byte> file = event_file_header(now_s);
  const std::vector<std::byte> record = scalar_event(now_s, step, scalars);
  file.insert(file.end(), record.begin(), record.end());
  return file;
}

std::string file_name(int64_t step) {
  return formatted("events.out.tfevents.%010lld.probe", static_cast<long long>(step));
}

}  // namespace

ProbeEvents::ProbeEvents(Storage& storage, Uri directory)
    : storage_(storage), directory_(std::move(directory)) {}

void ProbeEvents::add(const std::vector<ProbeReport>& reports, double now_s) {
  if (reports.empty()) return;
  const int64_t step = reports.front().step;
  add_file(step, {.content = event_file(step, reports, now_s)});
}

void ProbeEvents::restore(const std::vector<ProbeReport>& reports, double now_s) {
  std::map<int64_t, std::vector<ProbeReport>> by_step;
  for (const ProbeReport& report : reports) by_step[report.step].push_back(report);
  for (const auto& [step, of_step] : by_step) {
    add_file(step, {.content = event_file(step, of_step, now_s), .only_if_missing = true});
  }
}

void ProbeEvents::add_file(int64_t step, File file) {
  const std::lock_guard lock(mutex_);
  pending_[step] = std::move(file);
}

void ProbeEvents::flush() {
  while (true) {
    std::pair<int64_t, File> next;
    {
      const std::lock_guard lock(mutex_);
      if (pending_.empty()) return;
      next = {pending_.begin()->first, std::move(pending_.begin()->second)};
      pending_.erase(pending_.begin());
    }
    auto& step = next.first;
    auto& file = next.second;
    try {
      const Uri uri = directory_ / file_name(step);
      if (file.only_if_missing && storage_.stat(uri)) continue;
      store_object(storage_, uri, [&](ByteSink& sink) { sink.write(file.content); });
    } catch (...) {
      const std::lock_guard lock(mutex_);
      pending_.emplace(step, std::move(file));  // unless newer scores of the step were added
      throw;
    }
  }
}

namespace {

constexpr size_t kNameBytes = 60;  // of a class

// A name for a tag, which is a line of UTF-8. Long names are cut and numbered.
std::string name_of(const std::vector<ClassScore>& classes, size_t number) {
  const std::string& name = classes[number].name;
  const std::string shown = quoted(name, kNameBytes);
  const std::string inside = shown.substr(1, shown.size() - 2);
  return name.size() > kNameBytes ? cat(inside, " ", number) : inside;
}

std::vector<float> curve_of(const ThresholdCounts& counts) {
  constexpr size_t kThresholds = ThresholdCounts::kThresholds;
  const auto at_thresholds = counts.at_thresholds();
  const int64_t examples = counts.examples();
  std::vector<float> rows(6 * kThresholds);
  for (size_t i = 0; i < kThresholds; ++i) {
    const ClassCounts& here = at_thresholds[i];
    const int64_t hits = here.true_positives, false_alarms = here.predicted - hits;
    const std::array<double, 6> values = {
        static_cast<double>(hits),
        static_cast<double>(false_alarms),
        static_cast<double>(examples - here.support - false_alarms),
        static_cast<double>(here.support - hits),
        here.precision(),
        here.recall()};
    for (size_t row = 0; row < values.size(); ++row) {
      rows[row * kThresholds + i] = static_cast<float>(values[row]);
    }
  }
  return rows;
}

// The numbers of the classes, with their names in a block of code, in which Markdown has no effect.
std::string legend(const std::vector<ClassScore>& classes) {
  std::string text =
      "Each row is a true class and each column a predicted one. A cell is as dark as its share of "
      "the row.\n\n";
  for (size_t i = 0; i < classes.size(); ++i) {
    text += cat("    ", i, " ", name_of(classes, i), "\n");
  }
  return text;
}

}  // namespace

std::vector<std::vector<std::byte>> class_events(double wall_time_s, int64_t step,
                                                 const TaskScores& scores) {
  std::vector<std::vector<std::byte>> records;
  const std::vector<ThresholdCounts>& thresholds = scores.details.thresholds;
  for (size_t i = 0; i < std::min(thresholds.size(), scores.classes.size()); ++i) {
    const std::string tag = "pr_curves/" + name_of(scores.classes, i);
    records.push_back(pr_curve_event(wall_time_s, step, tag, curve_of(thresholds[i])));
  }
  if (scores.confusion.empty()) return records;
  const ConfusionImage image = confusion_image(scores.confusion);
  records.push_back(image_event(wall_time_s, step, "confusion_matrix",
                                {.width = image.width,
                                 .height = image.height,
                                 .png = image.png,
                                 .description = legend(scores.classes)}));
  return records;
}

namespace {

constexpr size_t kMostWithNumbers = 20;
constexpr uint32_t kLeastCell = 28;    // pixels, with numbers
constexpr uint32_t kWholeWidth = 600;  // of a matrix without numbers, where cells can be so small
constexpr uint32_t kSmallestCell = 3;

// The palette: from white to blue, then the color of dark text. Light text is the first color.
constexpr uint8_t kShades = 64, kDark = kShades;

std::vector<Color> palette() {
  constexpr Color kBlue = {8, 48, 107};
  const auto mixed = [](int blue, int shade) {
    return static_cast<uint8_t>(255 - (255 - blue) * shade / (kShades - 1));
  };
  std::vector<Color> colors;
  for (int i = 0; i < kShades; ++i) {
    colors.push_back({mixed(kBlue.red, i), mixed(kBlue.green, i), mixed(kBlue.blue, i)});
  }
  colors.push_back({32, 32, 32});
  return colors;
}

// The digits, as rows of three dots.
constexpr uint32_t kDigitWidth = 3, kDigitHeight = 5, kDot = 2;
constexpr uint32_t kAdvance = kDot * (kDigitWidth + 1);  // pixels from one digit to the next
constexpr std::array<std::string_view, 10> kDigits = {
    "####.##.##.####", ".#.##..#..#.###", "###..#####..###", "###..####..####", "#.##.####..#..#",
    "####..###..####", "####..####.####", "###..#..#..#..#", "####.#####.####", "####.####..####"};

class Canvas {
 public:
  Canvas(uint32_t width, uint32_t height) : width_(width), pixels_(size_t{width} * height) {}

  void fill(uint32_t left, uint32_t top, uint32_t side_x, uint32_t side_y, uint8_t color) {
    for (uint32_t y = top; y < top + side_y; ++y) {
      const auto begin = pixels_.begin() + static_cast<ptrdiff_t>(size_t{y} * width_ + left);
      std::fill_n(begin, side_x, color);
    }
  }

  // Writes `number` into the middle of a box, which is large enough.
  void write(int64_t number, uint32_t left, uint32_t top, uint32_t side_x, uint32_t side_y,
             uint8_t color) {
    const std::string digits = std::to_string(number);
    left += (side_x + kDot - kAdvance * static_cast<uint32_t>(digits.size())) / 2;
    top += (side_y - kDot * kDigitHeight) / 2;
    for (const char digit : digits) {
      const std::string_view dots = kDigits[static_cast<size_t>(digit - '0')];
      for (uint32_t i = 0; i < dots.size(); ++i) {
        if (dots[i] != '#') continue;
        fill(left + kDot * (i % kDigitWidth), top + kDot * (i / kDigitWidth), kDot, kDot, color);
      }
      left += kAdvance;
    }
  }

  std::span<const uint8_t> pixels() const { return pixels_; }

 private:
  uint32_t width_;
  std::vector<uint8_t> pixels_;  // rows of indices into the palette
};

uint8_t shade_of(int64_t count, int64_t of) {
  if (of == 0) return 0;
  return static_cast<uint8_t>((2 * (kShades - 1) * count + of) / (2 * of));
}

}  // namespace

ConfusionImage confusion_image(const std::vector<std::vector<int64_t>>& counts) {
  const auto classes = static_cast<uint32_t>(counts.size());
  const bool has_numbers = classes <= kMostWithNumbers;
  int64_t most = 0;
  for (const auto& row : counts) most = std::max(most, std::ranges::max(row));
  const auto digits = static_cast<uint32_t>(std::to_string(most).size());
  const uint32_t cell = has_numbers ? std::max(kLeastCell, kAdvance * (digits + 1))
                                    : std::max(kSmallestCell, kWholeWidth / classes);
  const uint32_t margin = has_numbers ? kLeastCell : 0, gap = has_numbers ? 1 : 0;
  const uint32_t side = margin + classes * cell;

  Canvas canvas(side, side);
  for (uint32_t truth = 0; truth < classes; ++truth) {
    const auto& row = counts[truth];
    const int64_t support = std::accumulate(row.begin(), row.end(), int64_t{0});
    const uint32_t top = margin + truth * cell;
    if (has_numbers) {
      canvas.write(truth, 0, top, margin, cell, kDark);
      canvas.write(truth, top, 0, cell, margin, kDark);
    }
    for (uint32_t guess = 0; guess < classes; ++guess) {
      const uint32_t left = margin + guess * cell;
      const uint8_t shade = shade_of(row[guess], support);
      canvas.fill(left, top, cell - gap, cell - gap, shade);
      if (!has_numbers) continue;
      const uint8_t ink = shade < kShades / 2 ? kDark : uint8_t{0};
      canvas.write(row[guess], left, top, cell, cell, ink);
    }
  }
  return {.width = side, .height = side, .png = png_file(side, canvas.pixels(), palette())};
}

namespace {

constexpr int64_t kPiece = 1 << 16;  // elements that are read at once

// "bert.encoder.layer.0.output.dense.bias" -> "bert.encoder.layer.0/output.dense.bias". A parameter
// outside of the layers is in a group with the name of its first word.
std::string histogram_tag(const std::string& parameter) {
  // The group ends behind the first word that is a number, or else behind the first word.
  size_t first = std::string::npos;
  for (size_t at = 0; at < parameter.size();) {
    const size_t end = std::min(parameter.find('.', at), parameter.size());
    const bool is_number = end > at && std::isdigit(static_cast<unsigned char>(parameter[at])) != 0;
    if (first == std::string::npos) first = end;
    if (is_number) {
      first = end;
      break;
    }
    at = end + 1;
  }
  if (first >= parameter.size()) return parameter;
  std::string tag = parameter;
  tag[first] = '/';
  return tag;
}

}  // namespace

HistogramEvents::HistogramEvents(Storage& storage, const Uri& summary_dir,
                                 const std::string& writer, const ParameterTensors& values,
                                 Clock wall_clock)
    : values_(values),
      wall_clock_(std::move(wall_clock)),
      run_(storage, summary_dir / "train", writer + ".histograms") {}

std::vector<HistogramBucket> HistogramEvents::buckets_of(size_t index) const {
  const int64_t elements = values_.specs()[index].elements();
  std::vector<float> piece(static_cast<size_t>(std::min(elements, kPiece)));
  ValueHistogram histogram;
  const auto read = [&](auto&& use) {
    for (int64_t first = 0; first < elements; first += kPiece) {
      const auto count = static_cast<size_t>(std::min(kPiece, elements - first));
      const std::span<float> values = std::span(piece).first(count);
      values_.read(index, first, values);
      use(values);
    }
  };
  read([&](std::span<const float> values) { histogram.widen(values); });
  read([&](std::span<const float> values) { histogram.count(values); });
  return histogram.buckets();
}

void HistogramEvents::on_evaluation(const EvaluationReport& report) {
  const std::span<const ParameterSpec> specs = values_.specs();
  const double now_s = wall_clock_();
  for (size_t i = 0; i < specs.size(); ++i) {
    if (!specs[i].trains) continue;
    run_.add(histogram_event(now_s, report.step, histogram_tag(specs[i].name), buckets_of(i)));
  }
  background_.submit([this, now_s] {
    try {
      run_.flush(now_s);
    } catch (const std::exception& error) {
      log_warning(
          cat("the histograms could not be stored and will be tried again: ", error.what()));
    }
  });
}

}  // namespace berth
