// SPDX-License-Identifier: Apache-2.0
// What this build knows of APIs that programs come from: tables that names.py makes from the folders in compat/.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace tenon::tool::migrate {

/// What is absent or differs: a name, or a pattern with * for any characters.
struct Note {
  std::string name, reason, instead;
};

/// A word of build files: a component of find_package, a target, a module of pkg-config.
struct Component {
  std::string name, reason;
  bool there = true;
};

/// A line of the project's that changes, or stays.
struct Line {
  std::string what, text;
};

struct Known {
  std::string api, title, name_space, page;
  std::vector<std::string> begins;  ///< How the paths of its headers begin.
  std::set<std::string> headers;
  std::vector<Note> absent_headers, absent, differs;
  std::map<std::string, std::string> names;           ///< Qualified names, with what they are.
  std::unordered_set<std::string> methods;            ///< The last part of each, without its class.
  std::unordered_map<std::string, std::string> keys;  ///< Texts of properties, with their names.
  std::vector<Component> components;
  std::vector<Line> use;
};

/// One of each API whose folder this build has. @errors kCorrupted: a table that is none.
const std::vector<Known>& known();

bool matches(std::string_view pattern, std::string_view name);
/// The first note whose pattern matches; nullptr if none does.
const Note* find(const std::vector<Note>& notes, std::string_view name);

}  // namespace tenon::tool::migrate
