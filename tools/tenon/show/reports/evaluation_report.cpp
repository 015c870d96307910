// SPDX-License-Identifier: Apache-2.0
// Writes how good results are.
#include <tenon/tools/tenon/show/reports/evaluation_report.hpp>

#include <algorithm>
#include <cstddef>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <tenon/tools/tenon/shared/json_text.hpp>
#include <tenon/tools/tenon/show/pictures/plot.hpp>
#include <tenon/tools/tenon/show/text/text_table.hpp>

namespace tenon::tool {
namespace {

using Rows = std::vector<std::vector<std::string>>;
using Json = nlohmann::ordered_json;
using vision::CocoFigures;
using vision::CocoLabel;
using vision::CocoResult;
using vision::TrackingCounts;

/// A share of 1 as text; "-" where there is none.
std::string share(const std::optional<double>& value) { return value ? fmt::format("{:.3f}", *value) : "-"; }
std::string count(std::size_t value) { return fmt::format("{}", value); }

const std::string& name_of(const CocoLabel& label, const std::vector<std::string>& labels) {
  return labels[static_cast<std::size_t>(label.label_id)];
}

Rows figure_rows(const CocoResult& result) {
  const CocoFigures& all = result.all;
  return {{"", "all", "small", "medium", "large"},
          {"AP (overlap 0.50 to 0.95)", share(all.ap), share(all.ap_small), share(all.ap_medium), share(all.ap_large)},
          {"AP50", share(all.ap50)},
          {"AP75", share(all.ap75)},
          {"AR, 1 detection a picture", share(all.ar1)},
          {"AR, 10 detections", share(all.ar10)},
          {"AR, 100 detections", share(all.ar100), share(all.ar_small), share(all.ar_medium), share(all.ar_large)}};
}

Rows label_rows(const CocoResult& result, const std::vector<std::string>& labels) {
  Rows rows{{"label", "objects", "detections", "AP", "AP50", "AR100", "recall at 0.5", "best F1", "from score"}};
  for (const CocoLabel& label : result.labels) {
    const bool has = label.objects > 0;
    rows.push_back({name_of(label, labels), count(label.objects), count(label.detections), share(label.figures.ap),
                    share(label.figures.ap50), share(label.figures.ar100), has ? share(label.recall50) : "-",
                    has ? share(label.best_f1) : "-", has && label.best_f1 > 0 ? share(label.best_score) : "-"});
  }
  return rows;
}

std::vector<std::string> tracking_row(const std::string& name, const TrackingCounts& counts) {
  return {name,
          share(counts.hota()),
          share(counts.det_a()),
          share(counts.ass_a()),
          share(counts.idf1()),
          share(counts.mota()),
          share(counts.motp()),
          count(counts.switches),
          count(counts.fragments),
          count(counts.missed()),
          count(counts.wrong()),
          fmt::format("{}/{}/{}", counts.mostly_tracked, counts.partly_tracked, counts.mostly_lost)};
}

Rows tracking_rows(const Evaluation& evaluation) {
  Rows rows{{"sequence", "HOTA", "DetA", "AssA", "IDF1", "MOTA", "MOTP", "id switches", "fragments", "missed", "wrong",
             "tracked most/partly/lost"}};
  for (const auto& [name, counts] : evaluation.sequences) rows.push_back(tracking_row(name, counts));
  if (evaluation.sequences.size() > 1) rows.push_back(tracking_row("all", evaluation.tracking()));
  return rows;
}

Json figures_json(const CocoFigures& figures) {
  const auto value = [](const std::optional<double>& figure) { return figure ? Json(*figure) : Json(nullptr); };
  return {{"ap", value(figures.ap)},
          {"ap50", value(figures.ap50)},
          {"ap75", value(figures.ap75)},
          {"ap_small", value(figures.ap_small)},
          {"ap_medium", value(figures.ap_medium)},
          {"ap_large", value(figures.ap_large)},
          {"ar1", value(figures.ar1)},
          {"ar10", value(figures.ar10)},
          {"ar100", value(figures.ar100)},
          {"ar_small", value(figures.ar_small)},
          {"ar_medium", value(figures.ar_medium)},
          {"ar_large", value(figures.ar_large)}};
}

Json coco_json(const CocoResult& result, const std::vector<std::string>& labels) {
  Json all = figures_json(result.all);
  all["pictures"] = result.pictures;
  all["objects"] = result.objects;
  all["detections"] = result.detections;
  all["labels"] = Json::array();
  for (const CocoLabel& label : result.labels) {
    Json one{{"label", name_of(label, labels)}, {"objects", label.objects}, {"detections", label.detections}};
    one.update(figures_json(label.figures));
    const bool has = label.objects > 0;
    one["recall50"] = has ? Json(label.recall50) : Json(nullptr);
    one["best_f1"] = has ? Json(label.best_f1) : Json(nullptr);
    one["best_score"] = has && label.best_f1 > 0 ? Json(label.best_score) : Json(nullptr);
    one["precision50"] = label.precision50;
    all["labels"].push_back(std::move(one));
  }
  return all;
}

Json tracking_json(const TrackingCounts& counts) {
  Json by_overlap = Json::array();
  for (std::size_t i = 0; i < TrackingCounts::kOverlaps; ++i) by_overlap.push_back(counts.hota_at(i));
  return {{"hota", counts.hota()},
          {"det_a", counts.det_a()},
          {"ass_a", counts.ass_a()},
          {"loc_a", counts.loc_a()},
          {"det_recall", counts.det_recall()},
          {"det_precision", counts.det_precision()},
          {"ass_recall", counts.ass_recall()},
          {"ass_precision", counts.ass_precision()},
          {"hota_by_overlap", by_overlap},
          {"idf1", counts.idf1()},
          {"id_recall", counts.id_recall()},
          {"id_precision", counts.id_precision()},
          {"mota", counts.mota()},
          {"motp", counts.motp()},
          {"id_switches", counts.switches},
          {"fragments", counts.fragments},
          {"matched", counts.clear_pairs},
          {"missed", counts.missed()},
          {"wrong", counts.wrong()},
          {"mostly_tracked", counts.mostly_tracked},
          {"partly_tracked", counts.partly_tracked},
          {"mostly_lost", counts.mostly_lost},
          {"pictures", counts.pictures},
          {"objects", counts.objects},
          {"object_ids", counts.object_ids},
          {"found", counts.found},
          {"found_ids", counts.found_ids}};
}

/// Precision over recall of each label at an overlap of 0.5, those with the most objects first.
Plot precision_plot(const std::string& what, const CocoResult& result, const std::vector<std::string>& labels) {
  Plot plot{"Precision over recall, " + what + ", overlap 0.5", "recall", "precision", 0, 1, 0, 1.02, {}};
  std::vector<const CocoLabel*> order;
  for (const CocoLabel& label : result.labels)
    if (label.objects > 0) order.push_back(&label);
  std::stable_sort(order.begin(), order.end(),
                   [](const CocoLabel* a, const CocoLabel* b) { return a->objects > b->objects; });
  for (const CocoLabel* label : order) {
    PlotLine& line = plot.lines.emplace_back();
    line.name = fmt::format("{} ({})", name_of(*label, labels), share(label->figures.ap50));
    for (std::size_t i = 0; i < label->precision50.size(); ++i) {
      const double recall = static_cast<double>(i) / 100;
      line.points.emplace_back(recall, label->precision50[i]);
    }
  }
  return plot;
}

Plot hota_plot(const TrackingCounts& counts) {
  Plot plot{"HOTA over the overlap that makes a match",
            "overlap",
            "",
            0,
            1,
            0,
            1.02,
            {{"HOTA", {}, true}, {"DetA", {}, false}, {"AssA", {}, false}}};
  for (std::size_t i = 0; i < TrackingCounts::kOverlaps; ++i) {
    const double overlap = 0.05 * static_cast<double>(i + 1), pairs = static_cast<double>(counts.pairs[i]);
    plot.lines[0].points.emplace_back(overlap, counts.hota_at(i));
    plot.lines[1].points.emplace_back(
        overlap, pairs / std::max(1.0, static_cast<double>(counts.objects + counts.found) - pairs));
    plot.lines[2].points.emplace_back(overlap, counts.association[i] / std::max(1.0, pairs));
  }
  return plot;
}

}  // namespace

TrackingCounts Evaluation::tracking() const {
  TrackingCounts all;
  for (const auto& [name, counts] : sequences) all += counts;
  return all;
}

std::string Evaluation::to_text() const {
  std::string text = fmt::format("{} against {}\n", results, truth);
  const auto add = [&](const char* what, const std::optional<CocoResult>& result) {
    if (!result) return;
    text += fmt::format("\n{}: {} pictures, {} objects, {} detections\n{}\n{}", what, result->pictures, result->objects,
                        result->detections, text_table(figure_rows(*result)), text_table(label_rows(*result, labels)));
  };
  add("boxes", boxes);
  add("masks", masks);
  if (!sequences.empty()) text += "\ntracks\n" + text_table(tracking_rows(*this));
  for (const std::string& note : notes) text += (&note == &notes.front() ? "\nnote: " : "note: ") + note + "\n";
  return text;
}

std::string Evaluation::to_json() const {
  Json all{{"truth", truth}, {"results", results}};
  if (boxes) all["boxes"] = coco_json(*boxes, labels);
  if (masks) all["masks"] = coco_json(*masks, labels);
  if (!sequences.empty()) {
    all["tracking"] = tracking_json(tracking());
    for (const auto& [name, counts] : sequences) all["sequences"][name] = tracking_json(counts);
  }
  all["notes"] = notes;
  return json_text(all);
}

std::string Evaluation::to_html() const {
  std::string body = fmt::format("<p>{} against {}</p>\n", html_text(results), html_text(truth));
  const auto add = [&](const char* what, const std::optional<CocoResult>& result) {
    if (!result) return;
    body += fmt::format("<h2>{}</h2>\n<p>{} pictures, {} objects, {} detections</p>\n{}{}{}", what, result->pictures,
                        result->objects, result->detections, html_table(figure_rows(*result)),
                        precision_plot(what, *result, labels).to_svg(), html_table(label_rows(*result, labels)));
  };
  add("Boxes", boxes);
  add("Masks", masks);
  if (!sequences.empty())
    body += "<h2>Tracks</h2>\n" + html_table(tracking_rows(*this)) + hota_plot(tracking()).to_svg();
  for (const std::string& note : notes) body += "<p>Note: " + html_text(note) + "</p>\n";
  return html_page("Evaluation", body);
}

}  // namespace tenon::tool
