// SPDX-License-Identifier: Apache-2.0
// Opens an input by whichever framework knows it.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>

#include <tenon/tools/tenon/shared/frame_source.hpp>

namespace tenon::tool {

/// Opens an input of one framework; null if it is none of its own.
using OpenSource = std::unique_ptr<FrameSource> (*)(const SourceOptions&);
/// GStreamer's launch lines first, then those of the frameworks that were built, FFmpeg's last: it takes every name. CMake
/// makes this list from the files in sources/: x_source.cpp defines open_x_source().
std::span<const OpenSource> known_sources();

/// @errors as the framework's own open; kInvalidArgument: a camera's settings for what is no camera.
inline std::unique_ptr<FrameSource> open_source(const SourceOptions& options) {
  for (const OpenSource open : known_sources())
    if (auto source = open(options)) return source;
  return nullptr;
}

/// "h264 -> pool(memfd)" as {"h264", "pool(memfd)"}. A copy on the way is the hop itself, no place.
inline std::pair<std::string, std::string> ends_of(const std::string& path) {
  const auto first = path.find(" -> ");
  std::string lies_in = path.substr(first + 4);
  if (lies_in.starts_with("copy -> ")) lies_in.erase(0, 8);
  return {path.substr(0, first), lies_in};
}

}  // namespace tenon::tool
