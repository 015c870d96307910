// SPDX-License-Identifier: Apache-2.0
// Which names of the known APIs a project uses.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/tools/tenon/migrate/known.hpp>

namespace tenon::tool::migrate {

enum class Verdict { kThere, kDiffers, kAbsent };

/// One name, wherever the project uses it.
struct Use {
  Verdict verdict = Verdict::kThere;
  std::string reason, instead;
  std::size_t count = 0;
  std::string file;  ///< The first place.
  std::size_t line = 0;
};
/// By kind ("header", "class", "function", "property", "build") and name.
using Uses = std::map<std::pair<std::string, std::string>, Use>;

/// A line of a build file that names the API.
struct BuildLine {
  std::string file, text;
  std::size_t line = 0;
};

struct Found {
  const Known* known = nullptr;
  Uses uses;
  std::vector<BuildLine> lines;
  std::set<std::string> own;  ///< Words in namespaces of that name which the project opens.
};

struct Unread {
  std::string path, reason;
};

struct Report {
  std::vector<Found> found;     ///< One of each known API.
  std::size_t files = 0;        ///< That were read.
  std::vector<Unread> skipped;  ///< On purpose: binary, too large, a build tree.
  std::vector<Unread> failed;   ///< The system refused.
};

/// Larger files are skipped: no source that a person writes is.
inline constexpr std::size_t kLargestBytes = 16 << 20;

/// Reads files, and folders with what is in them. Links to folders are not followed, and no file is read twice.
/// @errors kNotFound: no such path; kPermissionDenied: it cannot be read.
Report scan(const std::vector<std::filesystem::path>& paths, const std::vector<Known>& apis);

/// Adds what one source uses.
void scan_source(std::string_view text, const std::string& file, std::vector<Found>& found);
/// Drops names that no header declares and that the project may declare itself: after all of its files.
void forget_own(Found& found);
/// Adds what one CMake file names.
void scan_cmake(std::string_view text, const std::string& file, std::vector<Found>& found);

}  // namespace tenon::tool::migrate
