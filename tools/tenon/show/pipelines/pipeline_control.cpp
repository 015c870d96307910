// SPDX-License-Identifier: Apache-2.0
// Turns requests into calls of the pipeline, and its errors into HTTP's numbers.
#include <tenon/tools/tenon/show/pipelines/pipeline_control.hpp>

#include <charconv>
#include <chrono>
#include <exception>
#include <string>

#include <nlohmann/json.hpp>

#include <tenon/core/credentials.hpp>
#include <tenon/core/error.hpp>

#include <tenon/tools/tenon/shared/web_server.hpp>

namespace tenon::tool {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::chrono::seconds kForRemoval{2};

int http_status_of(Code code) {
  switch (code) {
    case Code::kNotFound:
      return 404;
    case Code::kAlreadyExists:
    case Code::kFailedPrecondition:
      return 409;
    case Code::kResourceExhausted:
      return 503;
    case Code::kInvalidArgument:
    case Code::kUnimplemented:
      return 400;
    default:
      return 500;
  }
}

WebAnswer json_answer(int status, const Json& body) {
  return {status, "application/json", body.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"};
}

/// @param body  Gives the answer.
template <typename Body>
WebAnswer answered(Body body) {
  try {
    return body();
  } catch (const Error& error) {
    return json_answer(http_status_of(error.code()), {{"error", without_credentials(error.what())}});
  } catch (const std::exception& error) {
    return json_answer(500, {{"error", without_credentials(error.what())}});
  }
}

/// "a%20b" is "a b".
std::string decoded(const std::string& text) {
  std::string made;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    const bool is_escape = text[i] == '%' && i + 2 < text.size() &&
                           std::from_chars(&text[i + 1], &text[i + 3], value, 16).ptr == &text[i + 3];
    made += is_escape ? static_cast<char>(value) : text[i];
    if (is_escape) i += 2;
  }
  return made;
}

}  // namespace

void serve_sources(WebServer& server, elements::Pipeline& pipeline) {
  server.on("/sources\\.json", [&pipeline](const std::string&) {
    Json all = Json::array();
    for (const elements::SourceState& one : pipeline.sources())
      all.push_back({{"name", one.name},
                     {"element", one.element},
                     {"stream", one.stream},
                     {"state", name(one.now)},
                     {"added", one.was_added},
                     {"frames", one.frames}});
    return json_answer(200, all);
  });
  server.on_change("POST", "/sources", [&pipeline](const std::string&, const std::string& body) {
    return answered([&] {
      const elements::SourceRequest request = elements::parse_source(body);
      const std::uint32_t stream = pipeline.add_source(request.node, request.like);
      return json_answer(201, {{"name", request.node.name}, {"stream", stream}});
    });
  });
  server.on_change("DELETE", "/sources/([^/]{1,300})", [&pipeline](const std::string& name, const std::string&) {
    return answered([&] {
      const bool has_ended = pipeline.remove_source(decoded(name), Clock::now() + kForRemoval);
      return json_answer(has_ended ? 200 : 202, {{"ended", has_ended}});
    });
  });
}

}  // namespace tenon::tool
