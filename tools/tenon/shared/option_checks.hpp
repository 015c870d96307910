// SPDX-License-Identifier: Apache-2.0
// Checks of options that several commands share.
#pragma once

#include <cstdint>
#include <string>

#include <CLI/CLI.hpp>

namespace tenon::tool {

/// @name What the value of an option names, in help and for tests, which make all pairs of what a command writes and what it reads of them.
/// A value that may also be something else (a camera, a port) has the name, too. @{
inline constexpr char kOutputFile[] = "OUTPUT", kOutputFolder[] = "OUTPUT-FOLDER", kSocket[] = "SOCKET";
inline constexpr char kModelFile[] = "MODEL", kWeightsFile[] = "WEIGHTS", kSideFile[] = "SIDE-FILE",
                      kLabelsFile[] = "LABELS";
inline constexpr char kMediaFile[] = "MEDIA", kPipelineFile[] = "PIPELINE", kTruthFile[] = "TRUTH",
                      kResultsFile[] = "RESULTS";
inline constexpr char kPictureFolder[] = "PICTURES", kFolder[] = "FOLDER", kSourceFile[] = "SOURCE",
                      kProgramFile[] = "PROGRAM";
/// @}

/// For real numbers between two, these included. CLI::Range takes NaN.
CLI::Validator reals_between(double least, double most);

struct PictureSize {
  std::uint32_t width_px = 0, height_px = 0;
};
/// Parses "1280x720". @errors CLI::ValidationError: it is not a size of 1 to 99999 pixels.
PictureSize picture_size(const std::string& text);

}  // namespace tenon::tool
