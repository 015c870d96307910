// SPDX-License-Identifier: Apache-2.0
// Checks of options that several commands share.
#pragma once

#include <cstdint>
#include <string>

#include <CLI/CLI.hpp>

namespace tenon::tool {

/// For real numbers between two, these included. CLI::Range takes NaN.
CLI::Validator reals_between(double least, double most);

struct PictureSize {
  std::uint32_t width_px = 0, height_px = 0;
};
/// Parses "1280x720". @errors CLI::ValidationError: it is not a size of 1 to 99999 pixels.
PictureSize picture_size(const std::string& text);

}  // namespace tenon::tool
