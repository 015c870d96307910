// SPDX-License-Identifier: Apache-2.0
// Writes what was tried.
#include <tenon/tools/tenon/show/reports/tune_report.hpp>

#include <algorithm>
#include <fstream>
#include <thread>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <tenon/tools/tenon/shared/json_text.hpp>
#include <tenon/tools/tenon/show/pictures/plot.hpp>
#include <tenon/tools/tenon/show/text/text_table.hpp>

namespace tenon::tool {
namespace {

using Rows = std::vector<std::vector<std::string>>;
using Json = nlohmann::ordered_json;

std::string ratio_text(const PairedComparison& one) {
  if (one.new_values.empty()) return "-";
  if (one.low == 0) return fmt::format("{:.3f}", one.ratio);
  return fmt::format("{:.3f} ({:.3f} to {:.3f})", one.ratio, one.low, one.high);
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

Json json_of(const PairedComparison& one) {
  return {{"before", one.old_values}, {"after", one.new_values},  {"ratio", one.ratio},     {"low", one.low},
          {"high", one.high},         {"p99_ms", one.latency_ms}, {"taken", one.is_better}, {"why", one.why}};
}

Rows step_rows(const TuneReport& report) {
  Rows rows{{"change", "before", "pairs", "ratio (95% interval)", "frames/s", "p99 ms", "taken", "why"}};
  const auto add = [&](const std::string& change, const std::string& before, const PairedComparison& one) {
    const bool has = !one.new_values.empty();
    rows.push_back({change, before, fmt::format("{}", one.new_values.size()), ratio_text(one),
                    has ? fmt::format("{:.1f}", mean_of(one.new_values)) : "-",
                    has ? fmt::format("{:.1f}", one.latency_ms) : "-", one.is_better ? "yes" : "no", one.why});
  };
  for (const TuneStep& step : report.steps) add(step.change, step.before, step.comparison);
  if (report.last) add("all changes", "the file", *report.last);
  return rows;
}

std::string summary(const TuneReport& report) {
  std::string text = fmt::format(
      "{} for {}, {} stream{}{}, {:.0f} of {:.0f} s\n{}\nnoise of one measurement: {:.1f}%\n", report.file, report.goal,
      report.streams, report.streams == 1 ? "" : "s",
      report.latency_bound_ms > 0 ? fmt::format(", p99 latency at most {:g} ms", report.latency_bound_ms) : "",
      report.seconds, report.budget_s, report.machine, 100 * report.noise);
  if (report.interrupted) text += "interrupted: this is what was tried until then\n";
  if (report.untried > 0) text += fmt::format("{} changes were not tried: give a longer --budget\n", report.untried);
  return text;
}

std::string tune_outcome(const TuneReport& report) {
  std::string text;
  if (report.changes.empty()) {
    text = "nothing that was tried is better beyond noise: the file stays as it is\n";
  } else {
    text = "taken:";
    for (const std::string& change : report.changes) text += " " + change;
    text += fmt::format("\nall of them beside the file as it was: {}\n",
                        report.last ? ratio_text(*report.last) : "not compared");
  }
  if (report.streams_before && report.streams_after)
    text += fmt::format("streams in real time: {} before, {} after\n", *report.streams_before, *report.streams_after);
  if (!report.written.empty()) text += "written: " + report.written + "\n";
  return text;
}

Rows stream_rows(const StreamsReport& report) {
  Rows rows{{"streams", "frames/s", "late or missing, worst stream", "dropped", "p50 ms", "p99 ms", "keeps up", ""}};
  for (const StreamsTrial& trial : report.result.trials) {
    const TrialResult& one = trial.result;
    rows.push_back({fmt::format("{}", trial.streams), fmt::format("{:.1f}", one.fps()),
                    fmt::format("{:.1f}%", 100 * one.worst_share()), fmt::format("{}", one.dropped),
                    fmt::format("{:.1f}", one.p50_ms), fmt::format("{:.1f}", one.p99_ms), trial.keeps_up ? "yes" : "no",
                    one.failure});
  }
  return rows;
}

std::string criterion(const StreamsReport& report) {
  return fmt::format(
      "A number of streams keeps up if in a window of {:g} s no stream has more than {:g}% of its frames late or "
      "missing, queues drop no more than "
      "that, late being {:g} ms more than its fastest frame{}.",
      report.seconds, 100 * report.options.bad_share, report.late_ms,
      report.options.latency_ms > 0
          ? fmt::format(", and the 99th percentile of latency is at most {:g} ms", report.options.latency_ms)
          : "");
}

std::string streams_answer(const StreamsReport& report) {
  return fmt::format("{}{} stream{} in real time", report.result.is_most ? "at least " : "", report.result.streams,
                     report.result.streams == 1 ? "" : "s");
}

std::string note_text(const std::vector<std::string>& notes) {
  std::string text;
  for (const std::string& note : notes) text += "note: " + note + "\n";
  return text;
}

std::string note_html(const std::vector<std::string>& notes) {
  std::string text;
  for (const std::string& note : notes) text += "<p>Note: " + html_text(note) + "</p>\n";
  return text;
}

}  // namespace

std::string machine_text() {
  std::ifstream file("/proc/cpuinfo");
  std::string model;
  for (std::string line; model.empty() && std::getline(file, line);)
    if (line.rfind("model name", 0) == 0 && line.find(": ") != std::string::npos)
      model = ", " + line.substr(line.find(": ") + 2);
  const unsigned processors = std::thread::hardware_concurrency();
  return fmt::format("{} processor{}{}", processors, processors == 1 ? "" : "s", model);
}

std::string TuneReport::to_text() const {
  return summary(*this) + "\n" + text_table(step_rows(*this)) + "\n" + tune_outcome(*this) + note_text(notes);
}

std::string TuneReport::to_json() const {
  Json all{{"file", file},
           {"goal", goal},
           {"machine", machine},
           {"streams", streams},
           {"seconds", seconds},
           {"budget_s", budget_s},
           {"latency_bound_ms", latency_bound_ms > 0 ? Json(latency_bound_ms) : Json(nullptr)},
           {"noise", noise},
           {"steps", Json::array()},
           {"untried", untried},
           {"changes", changes}};
  for (const TuneStep& step : steps) {
    Json one{{"change", step.change}, {"before_value", step.before}};
    one.update(json_of(step.comparison));
    all["steps"].push_back(std::move(one));
  }
  all["last"] = last ? json_of(*last) : Json(nullptr);
  all["streams_before"] = streams_before ? Json(*streams_before) : Json(nullptr);
  all["streams_after"] = streams_after ? Json(*streams_after) : Json(nullptr);
  all["written"] = written.empty() ? Json(nullptr) : Json(written);
  all["interrupted"] = interrupted;
  all["notes"] = notes;
  return json_text(all);
}

std::string TuneReport::to_html() const {
  Plot plot{"Frames per second of every measurement, in their order", "measurement", "frames/s", 0, 0, 0, 0, {}};
  plot.lines = {{"as it was then", {}, true}, {"with the change", {}, true}};
  double at = 1;
  const auto add = [&](const PairedComparison& one) {
    for (std::size_t i = 0; i < one.new_values.size(); ++i) {
      plot.lines[0].points.emplace_back(at, one.old_values[i]);
      plot.lines[1].points.emplace_back(at++, one.new_values[i]);
    }
  };
  for (const TuneStep& step : steps) add(step.comparison);
  if (last) add(*last);
  std::string text = html_text(summary(*this) + tune_outcome(*this)), body = "<p>";
  for (const char c : text) body += c == '\n' ? std::string("<br>\n") : std::string(1, c);
  return html_page("Tuning of " + file,
                   body + "</p>\n" + plot.to_svg() + html_table(step_rows(*this)) + note_html(notes));
}

std::string StreamsReport::to_text() const {
  return fmt::format("{}: {}\n{}\n{}\n\n{}{}", file, streams_answer(*this), machine, criterion(*this),
                     text_table(stream_rows(*this)), note_text(notes));
}

std::string StreamsReport::to_json() const {
  Json all{{"file", file},
           {"machine", machine},
           {"streams", result.streams},
           {"at_least", result.is_most},
           {"criterion",
            {{"seconds", seconds},
             {"bad_share", options.bad_share},
             {"late_ms", late_ms},
             {"latency_ms", options.latency_ms > 0 ? Json(options.latency_ms) : Json(nullptr)}}},
           {"trials", Json::array()}};
  for (const StreamsTrial& trial : result.trials) {
    const TrialResult& one = trial.result;
    all["trials"].push_back({{"streams", trial.streams},
                             {"fps", one.fps()},
                             {"worst_share", one.worst_share()},
                             {"dropped", one.dropped},
                             {"p50_ms", one.p50_ms},
                             {"p99_ms", one.p99_ms},
                             {"keeps_up", trial.keeps_up},
                             {"failure", one.failure.empty() ? Json(nullptr) : Json(one.failure)}});
  }
  all["notes"] = notes;
  return json_text(all);
}

std::string StreamsReport::to_html() const {
  Plot plot{"Frames that were late or missing, worst stream", "streams", "%", 0, 0, 0, 0, {}};
  PlotLine kept{"keeps up", {}, true}, failed{"does not", {}, true};
  for (const StreamsTrial& trial : result.trials)
    if (trial.result.failure.empty())
      (trial.keeps_up ? kept : failed)
          .points.emplace_back(static_cast<double>(trial.streams), 100 * trial.result.worst_share());
  for (PlotLine* line : {&kept, &failed}) std::sort(line->points.begin(), line->points.end());
  plot.lines = {std::move(kept), std::move(failed)};
  return html_page(fmt::format("{}: {}", file, streams_answer(*this)),
                   "<p>" + html_text(machine) + "</p>\n<p>" + html_text(criterion(*this)) + "</p>\n" + plot.to_svg() +
                       html_table(stream_rows(*this)) + note_html(notes));
}

}  // namespace tenon::tool
