// SPDX-License-Identifier: Apache-2.0
// A plot of lines as SVG, for reports.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace tenon::tool {

struct PlotLine {
  std::string name;  ///< For the legend; empty: none.
  std::vector<std::pair<double, double>> points;
  bool has_dots = false;  ///< A dot at each point.
};

struct Plot {
  std::string title, x_name, y_name;
  /// Ends of the axes; where both ends of one are equal, those of the lines, from 0 on.
  double x_from = 0, x_to = 0, y_from = 0, y_to = 0;
  std::vector<PlotLine> lines;

  /// An <svg> element with a size of its own, readable on light and dark pages. Texts are escaped; values that are not finite are left out.
  std::string to_svg() const;
};

/// A text for HTML and SVG.
std::string html_text(const std::string& text);

/// A page with a title, which needs no other file. @param body  HTML.
std::string html_page(const std::string& title, const std::string& body);

/// A table. @param rows  The first one is the heading; the texts are escaped.
std::string html_table(const std::vector<std::vector<std::string>>& rows);

}  // namespace tenon::tool
