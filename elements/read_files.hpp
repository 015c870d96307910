// SPDX-License-Identifier: Apache-2.0
// The files that a path for FFmpeg or GStreamer stands for: folders, patterns, playlists.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <tenon/core/export.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {

TENON_API bool is_picture(const std::filesystem::path& file);

/// The files that `path` stands for, in order: those of a folder of pictures, or that match a pattern.
/// @errors kNotFound, kPermissionDenied: there are none, or they cannot be listed
TENON_API std::vector<std::string> files_of(const std::string& path);

/// The files that match a path with a number, such as shot%04d.png.
TENON_API std::vector<std::string> numbered_files(const std::string& path);

/// All files that are read for `path`: also those that the library finds itself, by numbers, in playlists and in lists. Never fails.
TENON_API std::vector<std::string> files_read_for(const std::string& path);

}  // namespace elements
}  // namespace v1
}  // namespace tenon
