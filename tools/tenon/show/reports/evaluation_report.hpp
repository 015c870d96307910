// SPDX-License-Identifier: Apache-2.0
// How good results are, as a table, JSON and a page with plots.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tenon/vision/coco_metrics.hpp>
#include <tenon/vision/tracking_metrics.hpp>

namespace tenon::tool {

struct Evaluation {
  std::string truth, results;       ///< Names of what was compared.
  std::vector<std::string> labels;  ///< By the label ids in boxes and masks.
  std::optional<vision::CocoResult> boxes, masks;
  std::vector<std::pair<std::string, vision::TrackingCounts>> sequences;  ///< Empty: nothing was tracked.
  std::vector<std::string> notes;  ///< What was left out, and what one side lacks: sentences.

  /// The sum over all sequences.
  vision::TrackingCounts tracking() const;
  std::string to_text() const;
  std::string to_json() const;
  /// A page with the tables, precision over recall of each label, and HOTA over the overlap.
  std::string to_html() const;
};

}  // namespace tenon::tool
