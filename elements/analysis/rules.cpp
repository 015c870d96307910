// SPDX-License-Identifier: Apache-2.0
// Reads zones, lines and directions from JSON.
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/elements/analysis/analytics.hpp>
#include <tenon/elements/internal/json_reader.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace analysis {
namespace {

using metadata::Zone;
using vision::Anchor;
using vision::ZoneRule;

constexpr std::uintmax_t kMostBytes = 16'000'000;  ///< In a file of zones.

const std::vector<std::pair<std::string, Anchor>>& anchors() {
  static const std::vector<std::pair<std::string, Anchor>> all{
      {"bottom", Anchor::kBottom}, {"centre", Anchor::kCentre}, {"top", Anchor::kTop}, {"corners", Anchor::kCorners}};
  return all;
}

float coordinate_of(const Json& value, const Place& place) {
  return static_cast<float>(number_of(value, place, -1e6, 1e6));
}

/// [x, y], or {"x": x, "y": y} as DL Streamer's files have it.
metadata::Point point_of(const Json& value, const Place& place) {
  metadata::Point point;
  if (value.is_object()) {
    bool has_x = false, has_y = false;
    read_object(value, place,
                {{"x", [&](const Json& v, const Place& p) { point.x = coordinate_of(v, p), has_x = true; }},
                 {"y", [&](const Json& v, const Place& p) { point.y = coordinate_of(v, p), has_y = true; }}});
    if (!has_x || !has_y) place.refuse("needs \"x\" and \"y\"");
    return point;
  }
  if (list_of(value, place).size() != 2) place.refuse("must be two numbers, x and y");
  return {coordinate_of(value[0], place / 0), coordinate_of(value[1], place / 1)};
}

template <typename Read>
auto each_of(const Json& list, const Place& place, Read read) {
  std::vector<decltype(read(list, place))> all;
  for (std::size_t i = 0; i < list_of(list, place).size(); ++i) all.push_back(read(list[i], place / i));
  return all;
}

/// @param rule  With the defaults for what the object does not say.
ZoneRule rule_of(const Json& value, const Place& place, ZoneRule rule) {
  const auto name = [&](const Json& v, const Place& p) { rule.name = text_of(v, p); };
  const auto points = [&](const Json& v, const Place& p) { rule.points = each_of(v, p, point_of); };
  const auto real = [](float& to, double most) {
    return [&to, most](const Json& v, const Place& p) { to = static_cast<float>(number_of(v, p, 0, most)); };
  };
  const auto seconds = [](double& to) {
    return [&to](const Json& v, const Place& p) { to = number_of(v, p, 0, 1e9); };
  };
  Readers members{{"name", name},
                  {"id", name},
                  {"points", points},
                  {"labels", [&](const Json& v, const Place& p) { rule.labels = each_of(v, p, text_of); }},
                  {"anchor", [&](const Json& v, const Place& p) { rule.anchor = choice_of(v, p, anchors()); }}};
  if (rule.shape == Zone::Shape::kDirection) {
    members["tolerance"] = real(rule.tolerance_degrees, 180);
    members["distance"] = real(rule.distance_px, 1e6);
    members["still_s"] = seconds(rule.still_s);
  } else {
    members["confirm"] = [&](const Json& v, const Place& p) { rule.confirm = count_of(v, p, 1); };
    members["margin"] = real(rule.margin_px, 1e6);
  }
  if (rule.shape == Zone::Shape::kZone) {
    members["type"] = [](const Json& v, const Place& p) { choice_of<bool>(v, p, {{"polygon", true}}); };
    members["dwell_s"] = seconds(rule.dwell_s);
    members["crowd"] = [&](const Json& v, const Place& p) { rule.crowd = count_of(v, p, 0); };
  }
  read_object(value, place, members);
  if (rule.points.empty()) place.refuse("has no points");
  return rule;
}

void add_rules(const Json& list, const Place& place, const ZoneRule& defaults, std::vector<ZoneRule>& rules) {
  for (ZoneRule& rule : each_of(list, place, [&](const Json&v, const Place&p) { return rule_of(v, p, defaults); })) {
    if (rule.name.empty()) {
      const auto is_like_it = [&](const ZoneRule& other) { return other.shape == rule.shape; };
      const auto number = std::count_if(rules.begin(), rules.end(), is_like_it) + 1;
      rule.name = std::string(metadata::name(rule.shape)) + std::to_string(number);
    }
    rules.push_back(std::move(rule));
  }
}

std::string text_of_file(const std::string& path, const std::string& owner) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw cannot_read(owner + ": config \"" + path + "\"");
  std::string text;
  for (std::istreambuf_iterator<char> at(file), end; at != end; ++at) {
    if (text.size() == kMostBytes)
      throw Error(Code::kInvalidArgument, owner + ": config \"" + path + "\" is too large");
    text += *at;
  }
  return text;
}

}  // namespace

std::vector<ZoneRule> rules_of(const Parameters& given) {
  ZoneRule defaults;
  defaults.anchor = choice_of(given.text("anchor"), {given.owner()}, anchors());
  defaults.confirm = static_cast<std::uint32_t>(given.integer("confirm"));
  defaults.margin_px = static_cast<float>(given.number("margin"));
  if (given.text("units") == "fractions") defaults.distance_px = 0.02f;
  std::vector<ZoneRule> rules;
  const auto add = [&](Zone::Shape shape, const Json& list, const Place& place) {
    defaults.shape = shape;
    add_rules(list, place, defaults, rules);
  };
  const std::pair<const char*, Zone::Shape> kinds[] = {
      {"zones", Zone::Shape::kZone}, {"lines", Zone::Shape::kLine}, {"directions", Zone::Shape::kDirection}};
  if (const std::string& path = given.text("config"); !path.empty()) {
    const Place place{given.owner() + ": config \"" + path + "\""};
    const Json document = parse_json(text_of_file(path, given.owner()), place,
                                     "an object with the lists \"zones\", \"lines\" and \"directions\"");
    const auto later = [](const Json&, const Place&) {};  // In the order of `kinds`, whatever that of the file.
    read_object(document, place, {{"zones", later}, {"lines", later}, {"tripwires", later}, {"directions", later}});
    for (const auto& [name, shape] : kinds) {
      if (document.contains(name)) add(shape, document[name], place / name);
      if (shape == Zone::Shape::kLine && document.contains("tripwires"))
        add(shape, document["tripwires"], place / "tripwires");
    }
  }
  for (const auto& [name, shape] : kinds) {
    const Place place{given.owner() + ": parameter " + in_quotes(name)};
    if (const std::string& text = given.text(name); !text.empty())
      add(shape, parse_json(text, place, "a list: [{\"name\": \"gate\", \"points\": [[0,240],[640,240]]}]"), place);
  }
  if (rules.empty())
    throw Error(Code::kInvalidArgument, given.owner() +
                                            ": there are no zones, lines or directions; give them in 'zones', "
                                            "'lines', 'directions' or 'config'");
  return rules;
}

}  // namespace analysis
}  // namespace elements
}  // namespace v1
}  // namespace tenon
