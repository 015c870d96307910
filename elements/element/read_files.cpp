// SPDX-License-Identifier: Apache-2.0
// Folders, patterns and playlists, resolved to files.
#include <tenon/elements/read_files.hpp>

#include <glob.h>
#include <string.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include <tenon/core/error.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostLines = 100'000;  ///< In a playlist.

/// Sorts numbers by value: frame2 comes before frame10.
void sort_by_number(std::vector<std::string>& files) {
  std::sort(files.begin(), files.end(),
            [](const std::string& a, const std::string& b) { return ::strverscmp(a.c_str(), b.c_str()) < 0; });
}

std::vector<std::string> pictures_in(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code failure;
  for (fs::directory_iterator at(folder, failure), end; !failure && at != end; at.increment(failure))
    if (is_picture(at->path())) files.push_back(at->path().string());
  if (failure)
    throw Error(Code::kPermissionDenied, "folder \"" + folder + "\" cannot be read: " + failure.message(), "readdir",
                failure.value());
  if (files.empty())
    throw Error(Code::kNotFound, "folder \"" + folder + "\" holds no picture: .png, .jpg, .bmp, .webp, .tiff, .ppm");
  sort_by_number(files);
  return files;
}

std::vector<std::string> matching(const std::string& pattern) {
  glob_t found{};
  const int error = ::glob(pattern.c_str(), 0, nullptr, &found);
  std::vector<std::string> files;
  if (error == 0) files.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  if (files.empty()) throw Error(Code::kNotFound, "no file matches \"" + pattern + "\"; check the path");
  sort_by_number(files);
  return files;
}

/// Whether `name` is `pattern` with a number in place of %d, %4d, %04d, %u or %i.
bool is_numbered_like(std::string_view name, std::string_view pattern) {
  const std::size_t percent = pattern.find('%'), letter = pattern.find_first_of("diu", percent);
  if (percent == std::string_view::npos || letter == std::string_view::npos) return false;
  const auto is_digit = [](unsigned char c) { return std::isdigit(c) != 0; };
  const std::string_view width = pattern.substr(percent + 1, letter - percent - 1);
  const std::string_view before = pattern.substr(0, percent), after = pattern.substr(letter + 1);
  if (!std::all_of(width.begin(), width.end(), is_digit) || name.size() <= before.size() + after.size() ||
      !name.starts_with(before) || !name.ends_with(after))
    return false;
  name = name.substr(before.size(), name.size() - before.size() - after.size());
  return std::all_of(name.begin(), name.end(), is_digit);
}

/// The local path in a name for FFmpeg: "file:x" and "file:///x" are x, so is "cache:x".
std::string local_path(std::string name) {
  for (bool found = true; found;) {
    found = false;
    for (const std::string_view wrapper : {"file://", "file:", "cache:", "async:"}) {
      std::error_code ignored;
      if (!name.starts_with(wrapper) || fs::exists(name, ignored)) continue;
      name.erase(0, wrapper.size());
      found = true;
    }
  }
  return name;
}

void add_read(const std::string& name, std::set<std::string>& all);

/// The files that a playlist (m3u8) or a list of FFmpeg's (ffconcat) names, relative to it.
void add_listed(const fs::path& list, std::set<std::string>& all) {
  std::ifstream in(list);
  std::string line;
  const auto add = [&](std::string name) {
    if (!name.empty() && name.find("://") == std::string::npos && name.front() != '/')
      name = (list.parent_path() / name).string();
    if (!name.empty()) add_read(name, all);
  };
  for (std::size_t i = 0; i < kMostLines && std::getline(in, line); ++i) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.starts_with("file ")) {
      std::string name = line.substr(line.find_first_not_of(' ', 4));
      std::erase(name, '\'');
      add(name);
    } else if (const std::size_t uri = line.find("URI=\""); line.starts_with("#") && uri != std::string::npos) {
      add(line.substr(uri + 5, line.find('"', uri + 5) - uri - 5));
    } else if (!line.starts_with("#")) {
      add(line);
    }
  }
}

void add_read(const std::string& name, std::set<std::string>& all) {
  if (name.starts_with("concat:")) {
    std::size_t begin = 7;
    for (std::size_t end = 0; end != std::string::npos; begin = end + 1) {
      end = name.find('|', begin);
      add_read(name.substr(begin, end == std::string::npos ? end : end - begin), all);
    }
    return;
  }
  const std::string path = local_path(name);
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) {
    for (const std::string& each : numbered_files(path)) all.insert(each);
    return;
  }
  const std::string ending = fs::path(path).extension().string();
  if (all.insert(path).second && (ending == ".m3u8" || ending == ".m3u" || ending == ".ffconcat"))
    add_listed(path, all);
}

}  // namespace

bool is_picture(const fs::path& file) {
  static constexpr std::array<std::string_view, 9> kEndings{".png",  ".jpg", ".jpeg", ".bmp", ".webp",
                                                            ".tiff", ".tif", ".ppm",  ".pgm"};
  std::string ending = file.extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](char letter) { return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter + 32) : letter; });
  return std::find(kEndings.begin(), kEndings.end(), ending) != kEndings.end();
}

std::vector<std::string> files_of(const std::string& path) {
  std::error_code ignored;
  if (path.find("://") != std::string::npos || fs::is_regular_file(path, ignored)) return {path};
  if (fs::is_directory(path, ignored)) return pictures_in(path);
  if (path.find_first_of("*?[") != std::string::npos) return matching(path);
  return {path};
}

std::vector<std::string> numbered_files(const std::string& path) {
  std::vector<std::string> files;
  const fs::path pattern(path);
  if (path.find('%') == std::string::npos) return files;
  std::error_code failure;
  const fs::path folder = pattern.has_parent_path() ? pattern.parent_path() : fs::path(".");
  for (fs::directory_iterator at(folder, failure), end; !failure && at != end; at.increment(failure))
    if (is_numbered_like(at->path().filename().string(), pattern.filename().string()))
      files.push_back(at->path().string());
  return files;
}

std::vector<std::string> files_read_for(const std::string& path) {
  std::set<std::string> all;
  try {
    for (const std::string& each : files_of(path)) add_read(each, all);
  } catch (const Error&) {  // The source says so when it opens.
  }
  return {all.begin(), all.end()};
}

}  // namespace elements
}  // namespace v1
}  // namespace tenon
