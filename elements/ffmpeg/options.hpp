// SPDX-License-Identifier: Apache-2.0
// Parameters that several elements of this module have.
#pragma once

#include <map>
#include <string>

#include <tenon/core/error.hpp>
#include <tenon/elements/parameters.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace ffmpeg {

/// Parses "name=value:name=value"; a backslash before a colon keeps the colon. @errors kInvalidArgument: no name or no value.
inline std::map<std::string, std::string> pairs_of(const Parameters& given, const std::string& parameter) {
  const std::string& text = given.text(parameter);
  std::map<std::string, std::string> pairs;
  std::string pair;
  const auto add = [&] {
    const std::size_t middle = pair.find('=');
    if (middle == 0 || middle == std::string::npos)
      throw Error(Code::kInvalidArgument, given.owner() + ": parameter '" + parameter + "': \"" + pair +
                                              "\" is not name=value; separate several by colons");
    pairs[pair.substr(0, middle)] = pair.substr(middle + 1);
    pair.clear();
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size() && text[i + 1] == ':') {
      pair += text[++i];
    } else if (text[i] == ':') {
      add();
    } else {
      pair += text[i];
    }
  }
  if (!pair.empty()) add();
  return pairs;
}

inline Parameter encoder_device() {
  return {"device",
          "Device of encoders that take frames of one (h264_vaapi), as FFmpeg names it: /dev/dri/renderD128; empty: "
          "FFmpeg's default",
          std::string()};
}

}  // namespace ffmpeg
}  // namespace elements
}  // namespace v1
}  // namespace tenon
