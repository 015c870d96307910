// SPDX-License-Identifier: Apache-2.0
// Draws plots as SVG.
#include <tenon/tools/tenon/show/pictures/plot.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include <fmt/core.h>

namespace tenon::tool {
namespace {

constexpr double kWidth = 640, kHeight = 400, kLeft = 64, kTop = 36, kRight = 176, kBottom = 48;
/// Colours that stay apart in eyes that see few of them.
constexpr const char* kColours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                    "#e69f00", "#56b4e9", "#8f8f00", "#7f7f7f"};
constexpr std::size_t kMostLegends = 22;

/// A step of 1, 2 or 5 times a power of ten that divides a range into about five.
double step_of(double range) {
  if (!(range > 0)) return 1;
  const double power = std::pow(10, std::floor(std::log10(range / 5))), parts = range / 5 / power;
  return power * (parts > 5 ? 10 : parts > 2 ? 5 : parts > 1 ? 2 : 1);
}

struct Axis {
  double from = 0, to = 0;
  double share(double value) const { return (value - from) / (to - from); }
};

Axis axis_of(double from, double to, const std::vector<PlotLine>& lines, double std::pair<double, double>::*value) {
  if (from < to) return {from, to};
  double most = 0;
  for (const PlotLine& line : lines)
    for (const auto& point : line.points)
      if (std::isfinite(point.*value)) most = std::max(most, point.*value);
  return {0, most > 0 ? most * 1.05 : 1};
}

}  // namespace

std::string html_text(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '<')
      safe += "&lt;";
    else if (c == '>')
      safe += "&gt;";
    else if (c == '&')
      safe += "&amp;";
    else if (c == '"')
      safe += "&quot;";
    else
      safe += c;
  }
  return safe;
}

std::string Plot::to_svg() const {
  const Axis across = axis_of(x_from, x_to, lines, &std::pair<double, double>::first),
             up = axis_of(y_from, y_to, lines, &std::pair<double, double>::second);
  const auto x = [&](double value) { return kLeft + across.share(value) * (kWidth - kLeft - kRight); };
  const auto y = [&](double value) { return kHeight - kBottom - up.share(value) * (kHeight - kTop - kBottom); };
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" role=\"img\" "
      "aria-label=\"{2}\" "
      "font-family=\"sans-serif\" font-size=\"12\" fill=\"currentColor\">\n<text x=\"{3}\" y=\"20\" "
      "font-size=\"14\">{2}</text>\n",
      kWidth, kHeight, html_text(title), kLeft);
  const auto line = [&](double x1, double y1, double x2, double y2, double strength) {
    svg += fmt::format(
        "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"currentColor\" "
        "stroke-opacity=\"{}\"/>\n",
        x1, y1, x2, y2, strength);
  };
  const double x_step = step_of(across.to - across.from), y_step = step_of(up.to - up.from);
  for (double value = std::ceil(across.from / x_step) * x_step; value <= across.to + x_step / 1e6; value += x_step) {
    line(x(value), y(up.from), x(value), y(up.to), 0.15);
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{:.6g}</text>\n", x(value),
                       kHeight - kBottom + 16, std::abs(value) < x_step / 1e6 ? 0 : value);
  }
  for (double value = std::ceil(up.from / y_step) * y_step; value <= up.to + y_step / 1e6; value += y_step) {
    line(x(across.from), y(value), x(across.to), y(value), 0.15);
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{:.6g}</text>\n", kLeft - 6, y(value) + 4,
                       std::abs(value) < y_step / 1e6 ? 0 : value);
  }
  line(x(across.from), y(up.from), x(across.to), y(up.from), 0.8);
  line(x(across.from), y(up.from), x(across.from), y(up.to), 0.8);
  svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
                     (kLeft + kWidth - kRight) / 2, kHeight - 10, html_text(x_name));
  svg += fmt::format("<text transform=\"translate(14 {:.1f}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
                     (kTop + kHeight - kBottom) / 2, html_text(y_name));
  std::size_t names = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const char* const colour = kColours[i % std::size(kColours)];
    std::string points, dots;
    for (const auto& [px, py] : lines[i].points) {
      if (!std::isfinite(px) || !std::isfinite(py)) continue;
      points += fmt::format("{}{:.1f},{:.1f}", points.empty() ? "" : " ", x(px), y(py));
      if (lines[i].has_dots)
        dots += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\" fill=\"{}\"/>\n", x(px), y(py), colour);
    }
    if (points.empty()) continue;
    // Colours repeat; dashes tell lines of one colour apart.
    const char* const dashes = i / std::size(kColours) % 3 == 0   ? ""
                               : i / std::size(kColours) % 3 == 1 ? " stroke-dasharray=\"6 3\""
                                                                  : " stroke-dasharray=\"2 3\"";
    svg += fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"{}/>\n{}", points, colour,
                       dashes, dots);
    if (lines[i].name.empty() || ++names > kMostLegends) continue;
    const double at = kTop + 15 * static_cast<double>(names - 1) + 8;
    svg += fmt::format(
        "<line x1=\"{0}\" y1=\"{1:.1f}\" x2=\"{2}\" y2=\"{1:.1f}\" stroke=\"{3}\" stroke-width=\"2\"{4}/>\n",
        kWidth - kRight + 10, at, kWidth - kRight + 28, colour, dashes);
    svg +=
        fmt::format("<text x=\"{}\" y=\"{:.1f}\">{}</text>\n", kWidth - kRight + 33, at + 4, html_text(lines[i].name));
  }
  return svg + "</svg>\n";
}

std::string html_table(const std::vector<std::vector<std::string>>& rows) {
  std::string table = "<table>\n";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const char* const cell = i == 0 ? "th" : "td";
    table += "<tr>";
    for (const std::string& text : rows[i]) table += fmt::format("<{0}>{1}</{0}>", cell, html_text(text));
    table += "</tr>\n";
  }
  return table + "</table>\n";
}

std::string html_page(const std::string& title, const std::string& body) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\"><title>{0}</title>\n<style>\n"
      "body {{ font-family: sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; line-height: 1.5 }}\n"
      "table {{ border-collapse: collapse; margin: 1rem 0 }}\n"
      "th, td {{ padding: 0.2rem 0.7rem; text-align: right; border-bottom: 1px solid #8886 }}\n"
      "th:first-child, td:first-child {{ text-align: left }}\nsvg {{ max-width: 100%; height: auto }}\n"
      "</style></head>\n<body>\n<h1>{0}</h1>\n{1}</body></html>\n",
      html_text(title), body);
}

}  // namespace tenon::tool
