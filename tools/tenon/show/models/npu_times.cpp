// SPDX-License-Identifier: Apache-2.0
// Layers by their share of the time.
#include <tenon/tools/tenon/show/models/npu_times.hpp>

#include <algorithm>
#include <charconv>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <tenon/core/error.hpp>

#include <tenon/tools/tenon/show/pictures/plot.hpp>
#include <tenon/tools/tenon/show/text/progress.hpp>
#include <tenon/tools/tenon/show/text/text_table.hpp>

namespace tenon::tool {
namespace {

using planning::NpuLayer;

constexpr std::size_t kShown = 20;  ///< Layers of the table; --json has all.

int number_of(std::string_view text) {
  int number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : -1;
}

std::string known_platforms() {
  std::string text;
  for (const NpuPlatform& platform : kNpuPlatforms)
    if (platform.figures.clock_mhz != 0) text += fmt::format("{}{}", text.empty() ? "" : ", ", platform.number);
  return text;
}

std::vector<std::string> row_of(const NpuLayer& layer, double all_ns) {
  return {layer.name,
          layer.type,
          layer.engine == planning::NpuEngine::kMatrix ? layer.in_8_bits ? "matrix, 8 bits" : "matrix, f16"
                                                       : name(layer.engine),
          fmt::format("{:.1f}", layer.ns / 1e3),
          fmt::format("{:.1f}%", all_ns > 0 ? 100 * layer.ns / all_ns : 0),
          fmt::format("{:.1f}", layer.compute_ns / 1e3),
          fmt::format("{:.1f}", layer.memory_ns / 1e3),
          in_bytes(static_cast<double>(layer.bytes())),
          layer.multiply_adds > 0 ? fmt::format("{:.1f}", static_cast<double>(layer.multiply_adds) / 1e6) : "",
          layer.padded > 0 ? fmt::format("{:.0f}%", 100.0 * static_cast<double>(layer.multiply_adds) /
                                                        static_cast<double>(layer.padded))
                           : ""};
}

std::vector<std::vector<std::string>> rows_of(const planning::NpuEstimate& estimate, std::size_t most) {
  std::vector<const NpuLayer*> layers;
  for (const NpuLayer& layer : estimate.layers) layers.push_back(&layer);
  std::stable_sort(layers.begin(), layers.end(), [](const auto* a, const auto* b) { return a->ns > b->ns; });
  std::vector<std::vector<std::string>> rows{{"layer", "type", "engine", "us", "share", "computing", "transfers",
                                              "traffic", "M multiply-adds", "of the engine"}};
  for (std::size_t i = 0; i < std::min(layers.size(), most); ++i) rows.push_back(row_of(*layers[i], estimate.ns));
  return rows;
}

}  // namespace

NpuTimes::NpuTimes(const Model& model, const std::string& platform) {
  const std::string_view text = platform;
  const std::size_t colon = text.find(':');
  const int number = number_of(text.substr(0, colon));
  platform_ = number < 0 ? nullptr : find_npu_platform(static_cast<std::uint32_t>(number));
  if (!platform_)
    throw Error(Code::kInvalidArgument, fmt::format("--estimate {}: no NPU of which figures are known; there are {}",
                                                    platform, known_platforms()));
  tiles_ = colon == std::string_view::npos ? platform_->latency_tiles : number_of(text.substr(colon + 1));
  if (tiles_ < 0)
    throw Error(Code::kInvalidArgument, fmt::format("--estimate {}: behind the colon is the number of tiles, 1 to {}",
                                                    platform, platform_->max_tiles));
  estimate_ = planning::estimate_on_npu(model, *platform_, tiles_);
}

std::string NpuTimes::title() const {
  return fmt::format("on an NPU {} with {} of {} tiles: {:.3f} ms, {} of traffic, {:.0f} inferences per second",
                     platform_->number, tiles_, platform_->max_tiles, estimate_.ns / 1e6,
                     in_bytes(static_cast<double>(estimate_.bytes())), estimate_.ns > 0 ? 1e9 / estimate_.ns : 0);
}

std::string NpuTimes::to_text() const {
  std::string text = fmt::format("estimated {}\n{}", title(), text_table(rows_of(estimate_, kShown)));
  if (estimate_.layers.size() > kShown) text += fmt::format("and {} more\n", estimate_.layers.size() - kShown);
  const NpuFigures& figures = platform_->figures;
  return text + fmt::format("by published figures: {} MHz, {} multiply-adds of 8 bits a tile and cycle, {:.0f} GB/s\n",
                            figures.clock_mhz, figures.macs_per_tile, figures.memory_mb_per_s / 1e3);
}

nlohmann::json NpuTimes::to_json() const {
  nlohmann::json layers = nlohmann::json::array();
  for (const NpuLayer& layer : estimate_.layers)
    layers.push_back({{"name", layer.name},
                      {"type", layer.type},
                      {"fused", layer.fused},
                      {"engine", name(layer.engine)},
                      {"in_8_bits", layer.in_8_bits},
                      {"us", layer.ns / 1e3},
                      {"computing_us", layer.compute_ns / 1e3},
                      {"transfers_us", layer.memory_ns / 1e3},
                      {"read_bytes", layer.read_bytes},
                      {"written_bytes", layer.written_bytes},
                      {"weight_bytes", layer.weight_bytes},
                      {"multiply_adds", layer.multiply_adds}});
  return {{"platform", platform_->number},      {"tiles", tiles_},
          {"us", estimate_.ns / 1e3},           {"load_us", estimate_.load_ns / 1e3},
          {"traffic_bytes", estimate_.bytes()}, {"layers", std::move(layers)}};
}

std::string NpuTimes::to_html(const std::string& model) const {
  PlotLine computing{.name = "computing", .points = {}}, transfers{.name = "transfers", .points = {}};
  for (std::size_t i = 0; i < estimate_.layers.size(); ++i) {
    const auto x = static_cast<double>(i);
    computing.points.emplace_back(x, estimate_.layers[i].compute_ns / 1e3);
    transfers.points.emplace_back(x, estimate_.layers[i].memory_ns / 1e3);
  }
  Plot plot;
  plot.title = "Time of each layer";
  plot.x_name = "layer, in the order of execution";
  plot.y_name = "us";
  plot.lines = {std::move(computing), std::move(transfers)};
  return html_page(model, "<p>Estimated " + html_text(title()) + "</p>\n" + plot.to_svg() +
                              html_table(rows_of(estimate_, estimate_.layers.size())));
}

}  // namespace tenon::tool
