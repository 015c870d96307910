// SPDX-License-Identifier: Apache-2.0
// The files of a project, whatever lies in its folders.
#include <sys/stat.h>
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <set>
#include <system_error>

#include <tenon/core/error.hpp>

#include <tenon/tools/tenon/migrate/scan.hpp>

namespace tenon::tool::migrate {
namespace {

namespace fs = std::filesystem;

enum class Language { kNone, kSource, kCMake };
Language language_of(const fs::path& path) {
  if (path.filename() == "CMakeLists.txt" || path.extension() == ".cmake") return Language::kCMake;
  static const std::set<std::string> kSources = {".c",   ".cc",  ".cpp", ".cxx", ".c++", ".h",   ".hh",  ".hpp", ".hxx",
                                                 ".h++", ".ipp", ".inl", ".tpp", ".cu",  ".cuh", ".ixx", ".cppm"};
  return kSources.count(path.extension().string()) ? Language::kSource : Language::kNone;
}

class Walk {
 public:
  explicit Walk(Report& report) : report_(report) {}

  /// @param named  On the command line: then it has to be readable, and any file is a source.
  void path(const fs::path& path, bool named) {
    struct stat info {};
    // A link to a file is read as that file. Links to folders are not followed, so that no loop of them can be.
    if ((named ? ::stat(path.c_str(), &info) : ::lstat(path.c_str(), &info)) != 0) return refuse(path, errno, named);
    if (S_ISLNK(info.st_mode)) {
      if (::stat(path.c_str(), &info) != 0) return skip(path, std::strerror(errno));
      if (S_ISDIR(info.st_mode)) return skip(path, "a link to a folder");
    }
    if (S_ISDIR(info.st_mode)) return folder(path, named);
    if (!named && language_of(path) == Language::kNone) return;
    if (!S_ISREG(info.st_mode)) return skip(path, "not a file");
    if (!seen_.insert({info.st_dev, info.st_ino}).second) return;
    if (static_cast<std::uintmax_t>(info.st_size) > kLargestBytes) return skip(path, "larger than 16 MB");
    file(path, named);
  }
  /// Folders that were found on the way. Not by recursion: they may be nested deeper than a stack is.
  void run() {
    while (!folders_.empty()) {
      const fs::path next = std::move(folders_.back());
      folders_.pop_back();
      contents(next, false);
    }
  }

 private:
  void folder(const fs::path& path, bool named) {
    if (named) return contents(path, true);
    const std::string name = path.filename().string();
    if (name.size() > 1 && name[0] == '.') return skip(path, "a hidden folder");
    folders_.push_back(path);
  }
  void contents(const fs::path& path, bool named) {
    std::error_code failed;
    if (!named && fs::exists(path / "CMakeCache.txt", failed)) return skip(path, "a build tree");
    failed.clear();
    std::vector<fs::path> entries;
    for (fs::directory_iterator entry(path, failed), end; !failed && entry != end; entry.increment(failed))
      entries.push_back(entry->path());
    if (failed) return refuse(path, failed.value(), named);
    std::sort(entries.begin(), entries.end());
    const std::size_t before = folders_.size();
    for (const fs::path& entry : entries) this->path(entry, false);
    std::reverse(folders_.begin() + static_cast<std::ptrdiff_t>(before), folders_.end());  // The first one is next.
  }
  void file(const fs::path& path, bool named) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> in(std::fopen(path.c_str(), "rb"), &std::fclose);
    if (!in) return refuse(path, errno, named);
    std::string text;
    char block[1 << 16];
    for (std::size_t got; (got = std::fread(block, 1, sizeof block, in.get())) > 0;) {
      if (text.empty() && std::memchr(block, 0, got)) return skip(path, "binary");
      text.append(block, got);
      if (text.size() > kLargestBytes) return skip(path, "larger than 16 MB");
    }
    if (std::ferror(in.get())) return refuse(path, errno, named);
    ++report_.files;
    if (language_of(path) == Language::kCMake)
      scan_cmake(text, path.string(), report_.found);
    else
      scan_source(text, path.string(), report_.found);
  }
  void skip(const fs::path& path, const std::string& reason) { report_.skipped.push_back({path.string(), reason}); }
  void refuse(const fs::path& path, int error, bool named) {
    const std::string reason = std::strerror(error);
    if (named) {
      throw Error(error == EACCES || error == EPERM ? Code::kPermissionDenied : Code::kNotFound,
                  path.string() + ": " + reason + "; PATH is a source, a CMake file, or a folder with them");
    }
    report_.failed.push_back({path.string(), reason});
  }

  Report& report_;
  std::vector<fs::path> folders_;
  std::set<std::pair<dev_t, ino_t>> seen_;
};

}  // namespace

Report scan(const std::vector<fs::path>& paths, const std::vector<Known>& apis) {
  Report report;
  for (const Known& api : apis) report.found.push_back({&api, {}, {}, {}});
  Walk walk(report);
  for (const fs::path& path : paths) {
    walk.path(path, true);
    walk.run();
  }
  for (Found& found : report.found) forget_own(found);
  return report;
}

}  // namespace tenon::tool::migrate
