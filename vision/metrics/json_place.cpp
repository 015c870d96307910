// SPDX-License-Identifier: Apache-2.0
// Parses JSON documents of limited depth.
#include <tenon/vision/internal/json_place.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {

nlohmann::json parse_shallow(std::string_view text, const std::string& origin) {
  const auto shallow = [&](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
    if (depth > 32) throw Error(Code::kInvalidArgument, origin + ": nested deeper than 32 levels");
    return true;
  };
  try {
    return nlohmann::json::parse(text, shallow);
  } catch (const nlohmann::json::exception& error) {
    throw Error(Code::kInvalidArgument, origin + ": not valid JSON: " + error.what());
  }
}

}  // namespace vision
}  // namespace v1
}  // namespace tenon
