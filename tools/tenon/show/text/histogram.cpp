// SPDX-License-Identifier: Apache-2.0
// Computes bands and draws bars.
#include <tenon/tools/tenon/show/text/histogram.hpp>

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

namespace tenon::tool {
namespace {

/// A bar such as "████▌": whole cells, then a block of eighths.
std::string bar_of(double cells) {
  static constexpr const char* kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  std::string bar;
  const auto eighths = static_cast<std::size_t>(std::lround(cells * 8));
  for (std::size_t i = 0; i < eighths / 8; ++i) bar += "█";
  return bar + kEighths[eighths % 8];
}

}  // namespace

double quantile(const std::vector<double>& sorted, double q) {
  if (sorted.empty()) return 0;
  const auto index = static_cast<std::size_t>(q * static_cast<double>(sorted.size()));
  return sorted[std::min(sorted.size() - 1, index)];
}

std::vector<Band> histogram(const std::vector<double>& sorted) {
  if (sorted.empty()) return {};
  constexpr std::size_t kBands = 10;
  const double low = sorted.front(), high = std::max(quantile(sorted, 0.99), low * 1.001);
  const double width = (high - low) / kBands;
  std::vector<Band> bands(kBands + 1);
  for (std::size_t i = 0; i <= kBands; ++i) {
    bands[i].from = low + width * static_cast<double>(i);
    bands[i].to = i < kBands ? bands[i].from + width : std::max(sorted.back(), bands[i].from);
  }
  for (const double value : sorted) {
    const double band = width > 0 ? (value - low) / width : 0;
    ++bands[std::min(kBands, static_cast<std::size_t>(std::max(band, 0.0)))].count;
  }
  return bands;
}

std::string histogram_text(const std::vector<double>& sorted, const char* unit) {
  constexpr double kCells = 40;
  const std::vector<Band> bands = histogram(sorted);
  std::size_t most = 1;
  for (const Band& band : bands) most = std::max(most, band.count);
  const double median = quantile(sorted, 0.5);
  std::string text;
  for (std::size_t i = 0; i < bands.size(); ++i) {
    const Band& band = bands[i];
    const bool last = i + 1 == bands.size();
    const bool has_median = median >= band.from && (last || median < band.to);
    text += fmt::format("  {}{:9.3f} {}  {:5.1f}%  {}{}\n", last ? ">" : " ", band.from, unit,
                        100.0 * static_cast<double>(band.count) / static_cast<double>(sorted.size()),
                        bar_of(kCells * static_cast<double>(band.count) / static_cast<double>(most)),
                        has_median ? " <- median" : "");
  }
  return text;
}

}  // namespace tenon::tool
