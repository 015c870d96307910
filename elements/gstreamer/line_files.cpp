// SPDX-License-Identifier: Apache-2.0
#include <tenon/elements/gstreamer/internal/line_files.hpp>

#include <algorithm>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/elements/read_files.hpp>
#include <tenon/frameworks/gstreamer/gst.hpp>
#include <tenon/frameworks/gstreamer/launch.hpp>
#include <tenon/frameworks/gstreamer/named_files.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace gstreamer {
namespace {

namespace gs = tenon::gstreamer;

void add(GstElement* element, ElementFiles& files) {
  for (const gs::NamedFile& named : gs::named_files(element)) {
    std::vector<std::string>& list = named.is_written ? files.written : files.read;
    const std::vector<std::string> found = named.is_written ? numbered_files(named.path) : files_read_for(named.path);
    list.insert(list.end(), found.begin(), found.end());
    if (named.is_written) list.push_back(named.path);
  }
}

void sort_once(std::vector<std::string>& paths) {
  std::ranges::sort(paths);
  const auto rest = std::ranges::unique(paths);
  paths.erase(rest.begin(), rest.end());
}

}  // namespace

ElementFiles files_in(const std::string& line) {
  ElementFiles files;
  try {
    gs::start();
  } catch (const Error&) {
    return files;
  }
  GError* error = nullptr;
  const gs::ObjectPtr<GstElement> made(gst_parse_launch(line.c_str(), &error));
  g_clear_error(&error);
  if (!made) return files;
  gst_object_ref_sink(made.get());
  add(made.get(), files);
  if (GST_IS_BIN(made.get())) {
    gs::any_element(made.get(), [&](GstElement* element) {
      add(element, files);
      return false;
    });
  }
  sort_once(files.read), sort_once(files.written);
  return files;
}

}  // namespace gstreamer
}  // namespace elements
}  // namespace v1
}  // namespace tenon
