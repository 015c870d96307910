// SPDX-License-Identifier: Apache-2.0
#include <tenon/tools/tenon/migrate/known.hpp>

#include <algorithm>
#include <initializer_list>

#include <nlohmann/json.hpp>

namespace tenon::tool::migrate {
namespace {

constexpr std::initializer_list<const char*> kTables = {
#include <tenon/tools/tenon/migrate/tables.inc>
};

using nlohmann::json;

std::vector<Note> notes(const json& list) {
  std::vector<Note> result;
  for (const json& each : list) result.push_back({each.at("name"), each.at("reason"), each.value("instead", "")});
  return result;
}

Known read(const char* text) {
  const json table = json::parse(text);
  Known known;
  known.api = table.at("api");
  known.title = table.at("title");
  known.name_space = table.at("namespace");
  known.page = table.at("page");
  known.begins = table.at("begins").get<std::vector<std::string>>();
  known.headers = table.at("headers").get<std::set<std::string>>();
  for (const auto& [header, reason] : table.at("absent_headers").items())
    known.absent_headers.push_back({header, reason.get<std::string>(), ""});
  // A header's own reason is better than that of its folder's others.
  std::stable_partition(known.absent_headers.begin(), known.absent_headers.end(),
                        [](const Note& note) { return note.name.back() != '*'; });
  known.absent = notes(table.at("absent"));
  known.differs = notes(table.at("differs"));
  for (const auto& [name, kind] : table.at("names").items()) {
    known.names.emplace(name, kind.get<std::string>());
    if (kind == "method") known.methods.insert(name.substr(name.rfind(':') + 1));
  }
  for (const auto& name : table.at("in_macros")) known.methods.insert(name.get<std::string>());
  for (const auto& [text_of_key, name] : table.at("keys").items()) known.keys.emplace(text_of_key, name);
  for (const json& each : table.at("components"))
    known.components.push_back({each.at("name"), each.value("reason", ""), each.value("there", false)});
  for (const json& each : table.at("use")) known.use.push_back({each.at(0), each.at(1)});
  return known;
}

}  // namespace

const std::vector<Known>& known() {
  static const std::vector<Known> all = [] {
    std::vector<Known> result;
    for (const char* table : kTables) result.push_back(read(table));
    return result;
  }();
  return all;
}

bool matches(std::string_view pattern, std::string_view name) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == name;
  if (name.substr(0, star) != pattern.substr(0, star) || name.size() < star) return false;
  const std::string_view rest = pattern.substr(star + 1);
  for (std::size_t at = star; at <= name.size(); ++at)
    if (matches(rest, name.substr(at))) return true;
  return false;
}

const Note* find(const std::vector<Note>& notes, std::string_view name) {
  const auto found =
      std::find_if(notes.begin(), notes.end(), [&](const Note& note) { return matches(note.name, name); });
  return found == notes.end() ? nullptr : &*found;
}

}  // namespace tenon::tool::migrate
