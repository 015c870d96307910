// SPDX-License-Identifier: Apache-2.0
// JSON as all commands write it.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace tenon::tool {

/// Lines of JSON, the last one ended. Names of files and of tensors may be any bytes: what is not UTF-8 in them is written as U+FFFD, as
/// metadata::json_string() does.
template <typename Json>
std::string json_text(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace tenon::tool
