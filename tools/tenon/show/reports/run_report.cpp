// SPDX-License-Identifier: Apache-2.0
// The report of a run as JSON and as text.
#include <tenon/tools/tenon/show/reports/run_report.hpp>

#include <algorithm>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <tenon/tools/tenon/shared/json_text.hpp>
#include <tenon/tools/tenon/show/text/progress.hpp>

namespace tenon::tool {
namespace {

void add(HopReport& hop, const LedgerEntry& entry) {
  hop.copied += entry.copied;
  hop.converted += entry.converted;
  hop.transferred += entry.transferred;
  hop.waits += entry.waits;
}

/// Columns that a text occupies: UTF-8 continuation bytes do not count.
std::size_t columns(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string padded(std::string text, std::size_t width) {
  // The text is always separated from the next one, however long it is.
  text.append(std::max<std::size_t>(2, width - std::min(width, columns(text))), ' ');
  return text;
}

std::string per_frame_text(double waits) { return waits == 0 ? "0" : fmt::format("{:.2g}", waits); }

/// The sums over all inputs.
struct RunSum {
  std::uint64_t frames = 0, detections = 0;
  double copied = 0;  ///< Bytes.
  double seconds = 0;
  double fps() const { return seconds > 0 ? static_cast<double>(frames) / seconds : 0; }
  double copied_per_frame() const { return frames ? copied / static_cast<double>(frames) : 0; }
};
RunSum sum_of(const std::vector<const RunReport*>& reports, double seconds) {
  RunSum sum;
  sum.seconds = seconds;
  for (const RunReport* report : reports) {
    sum.frames += report->frames;
    sum.detections += report->detections;
    for (const HopReport& hop : report->hops) sum.copied += static_cast<double>(hop.copied);
  }
  return sum;
}

}  // namespace

std::vector<HopReport> hops_of(const FrameSource& source, const Ledger& booked,
                               const std::vector<LedgerEntry>& inference, std::uint64_t frames,
                               const std::string& device) {
  const elements::SourceReport told = source.report();
  const std::string &from = told.arrives_as, &lies_in = told.lies_in;
  const std::uint64_t buffers = source.buffers();
  HopReport decode{
      from + "->" + lies_in, from, lies_in, frames, frames > buffers ? frames - buffers : 0, 0, 0, 0, 0, {}};
  HopReport stage{"frame->input stage", lies_in, "input stage", 0, 0, 0, 0, 0, 0, {}};
  HopReport model{"input stage->" + device, "input stage", device, frames, frames, 0, 0, 0, 0, {}};
  for (const LedgerEntry& entry : booked.snapshot()) {
    // The forced copy of a comparison lies between pool and stage.
    add(entry.name == "forced copy" ? stage : decode, entry);
  }
  std::uint64_t plans = 0;
  for (const LedgerEntry& entry : inference) {
    if (entry.name == stage.edge) {
      stage.maps += entry.maps;
      stage.view_hits += entry.view_hits;
    }
    if (entry.name == "input stage re-plan") plans += entry.maps;
    const bool after_stage = entry.name.rfind("device->", 0) == 0 || entry.name.rfind(device + ":", 0) == 0;
    add(after_stage ? model : stage, entry);
  }
  // The first frame of each plan is in memory that was never bound before.
  model.view_hits -= std::min(model.view_hits, plans + (frames ? 1 : 0));
  return {decode, stage, model};
}

double RunReport::per_frame(std::uint64_t HopReport::*member) const {
  std::uint64_t sum = 0;
  for (const HopReport& hop : hops) sum += hop.*member;
  return frames ? static_cast<double>(sum) / static_cast<double>(frames) : 0;
}

std::string RunReport::to_json() const {
  using nlohmann::json;
  const auto optional = [](const std::optional<double>& value) { return value ? json(*value) : json(nullptr); };
  json list = json::array();
  for (const HopReport& hop : hops) {
    list.push_back({{"edge", hop.edge},
                    {"from", hop.from},
                    {"to", hop.to},
                    {"maps", hop.maps},
                    {"view_hits", hop.view_hits},
                    {"bytes", hop.copied},
                    {"bytes_converted", hop.converted},
                    {"bytes_transferred", hop.transferred},
                    {"waits", hop.waits},
                    {"proof", name(hop.proof.proof)},
                    {"proof_how", hop.proof.how}});
  }
  const double share = frames ? 1.0 / static_cast<double>(frames) : 0;
  json report{{"device", device},
              {"device_name", device_name},
              {"input", input},
              {"model", model},
              {"width", info.width_px},
              {"height", info.height_px},
              {"rotation", degrees(info.rotation)},
              {"mirrored", is_mirrored(info.rotation)},
              {"format", to_string(info.format)},
              {"frames", frames},
              {"seconds", seconds},
              {"fps", fps()},
              {"requests", requests},
              {"detections", detections},
              {"frames_cut_by_top_k", cut_frames},
              {"bytes_copied_per_frame", per_frame(&HopReport::copied)},
              {"bytes_converted_per_frame", per_frame(&HopReport::converted)},
              {"bytes_converted_to_per_frame", converted_to},
              {"bytes_transferred_per_frame", per_frame(&HopReport::transferred)},
              {"host_waits_per_frame", per_frame(&HopReport::waits)},
              {"hops", list},
              {"map50", optional(map50)},
              {"map50_95", optional(map50_95)},
              {"compile_ms", compile_ms},
              {"first_inference_ms", first_inference_ms},
              {"replans", replans},
              {"size_changes", size_changes},
              {"lost_frames", lost_frames},
              {"lost_packets", lost_packets},
              {"damaged_frames", damaged_frames},
              {"interrupted", interrupted},
              {"ended_by", ended_by.empty() ? json(nullptr) : json(ended_by)},
              {"saved_bytes_copied_per_frame", static_cast<double>(saved_copied) * share},
              {"saved_bytes_converted_per_frame", static_cast<double>(saved_converted) * share},
              {"saved", saved.empty() ? json(nullptr) : json(saved)}};
  if (comparison && comparison->why_not.empty()) {
    report["forced_copy"] = {{"bytes_copied_per_frame", comparison->copied_per_frame},
                             {"slower", comparison->slower()},
                             {"zero_copy_ms_per_frame", comparison->zero_copy_ms},
                             {"forced_copy_ms_per_frame", comparison->forced_ms},
                             {"blocks", comparison->blocks},
                             {"frames_per_block", comparison->frames_per_block}};
  } else {
    report["forced_copy"] = nullptr;
    if (comparison) report["forced_copy_why_not"] = comparison->why_not;
  }
  return json_text(report);
}

std::string RunReport::to_text() const {
  std::string text = fmt::format("{} frames of {} ({}x{} {}{}) in {:.1f} s on {}: {:.1f} frames/s, {} detections",
                                 frames, input, info.width_px, info.height_px, to_string(info.format),
                                 info.rotation == Rotation::kNone ? "" : ", " + to_string(info.rotation), seconds,
                                 device_name.empty() ? device : device_name, fps(), detections);
  if (map50) text += fmt::format(", mAP@0.5 {:.4f}", *map50);
  if (interrupted) text += "  (interrupted)";
  text += "\n";
  if (size_changes)
    text += fmt::format("the stream changed its size or format {} times; {} plans were compiled for it\n", size_changes,
                        replans);
  if (lost_frames)
    text += fmt::format("the camera took {} more pictures, for which no buffer was free in time\n", lost_frames);
  if (lost_packets) text += fmt::format("{} packets of the stream did not arrive\n", lost_packets);
  if (cut_frames)
    text +=
        fmt::format("{} pictures have more than {} results; only the best are counted (--top-k)\n", cut_frames, top_k);
  if (damaged_frames) text += fmt::format("{} pictures came without some of their data\n", damaged_frames);
  text += "\n";
  std::string way;
  std::size_t proved = 0;
  for (const HopReport& hop : hops) {
    if (way.empty()) way = hop.from;
    way += (hop.copied ? " =copy=> " : " -> ") + hop.to;
    proved += hop.proof.proof == Proof::kProved;
  }
  const std::string forced = "  the same, second hop forced to copy:";
  const std::size_t width = std::max(columns(way), columns(forced)) + 4;
  const std::string copied = "copied " + in_bytes(per_frame(&HopReport::copied)) + "/frame";
  const std::string converted =
      fmt::format("converted {} -> {}", in_bytes(per_frame(&HopReport::converted)), in_bytes(converted_to));
  text += padded(way, width) + padded(copied, 24) + padded(converted, 34) +
          padded("waits " + per_frame_text(per_frame(&HopReport::waits)), 10) +
          fmt::format("proved {}/{} hops\n", proved, hops.size());
  if (const double transferred = per_frame(&HopReport::transferred); transferred > 0) {
    text += fmt::format("  transferred to or from the device's own memory: {}/frame\n", in_bytes(transferred));
  }
  if (comparison && comparison->why_not.empty()) {
    const double slower = comparison->slower();
    text +=
        padded(forced, width) + padded("copied " + in_bytes(comparison->copied_per_frame) + "/frame", 24 + 34 + 10) +
        (slower >= 1.005 ? fmt::format("{:.2f}x slower", slower) : fmt::format("no slower here ({:.2f}x)", slower)) +
        fmt::format("  ({:.2f} -> {:.2f} ms/frame)\n", comparison->zero_copy_ms, comparison->forced_ms);
  } else if (comparison) {
    text += padded(forced, width) + comparison->why_not + "\n";
  }
  for (const HopReport& hop : hops) {
    if (hop.proof.proof == Proof::kProved) continue;
    text += fmt::format("  {}: {}: {}\n", hop.edge, name(hop.proof.proof), hop.proof.how);
  }
  if (!saved.empty()) {
    const double share = frames ? 1.0 / static_cast<double>(frames) : 0;
    text += fmt::format("  apart from that, for {} ({}): copied {}/frame to draw on", saved, codec,
                        in_bytes(static_cast<double>(saved_copied) * share));
    if (saved_converted)
      text += fmt::format(", converted {}/frame", in_bytes(static_cast<double>(saved_converted) * share));
    if (saved_left_out) text += fmt::format(", {} pictures of another format left out", saved_left_out);
    text += "\n";
  }
  if (!snapshot.empty()) text += "  one picture: " + snapshot + "\n";
  if (!ended_by.empty()) text += "  ended early: " + ended_by + "\n";
  return text;
}

std::string text_of_all(const std::vector<const RunReport*>& reports, double seconds) {
  const RunSum sum = sum_of(reports, seconds);
  return fmt::format("{} inputs side by side: {} frames in {:.1f} s: {:.1f} frames/s, {} detections, copied {}/frame\n",
                     reports.size(), sum.frames, sum.seconds, sum.fps(), sum.detections,
                     in_bytes(sum.copied_per_frame()));
}

std::string json_of_all(const std::vector<const RunReport*>& reports, double seconds) {
  using nlohmann::json;
  const RunSum sum = sum_of(reports, seconds);
  json inputs = json::array();
  for (const RunReport* report : reports) inputs.push_back(json::parse(report->to_json()));
  const json all{
      {"inputs", inputs}, {"frames", sum.frames},         {"seconds", sum.seconds},
      {"fps", sum.fps()}, {"detections", sum.detections}, {"bytes_copied_per_frame", sum.copied_per_frame()}};
  return json_text(all);
}

}  // namespace tenon::tool
