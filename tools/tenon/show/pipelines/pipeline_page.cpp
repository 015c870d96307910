// SPDX-License-Identifier: Apache-2.0
// The page's text is show/pipelines/page/pipeline.html.
#include <tenon/tools/tenon/show/pipelines/pipeline_page.hpp>

#include <cstdint>
#include <string_view>

#include <tenon/core/error.hpp>

#include <tenon/tools/tenon/shared/web_server.hpp>
#include <tenon/tools/tenon/show/pipelines/page.hpp>

namespace tenon::tool {
namespace {

std::string base64(std::string_view bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t word = 0;
    for (std::size_t k = 0; k < 3; ++k)
      word = word << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    for (std::size_t k = 0; k < 4; ++k) text += i + k <= bytes.size() ? kDigits[word >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

/// Writes JSON for use within a script element: no text in it can end the script.
std::string in_script(std::string json) {
  for (std::size_t at = 0; (at = json.find('<', at)) != std::string::npos;) json.replace(at, 1, "\\u003c");
  return json;
}

}  // namespace

void serve_pipeline(WebServer& server, const PipelineWatch& watch, Previews& previews) {
  server.on("/", [](const std::string&) { return WebAnswer{200, "text/html; charset=utf-8", page::pipeline}; });
  server.on("/state\\.json", [&watch](const std::string&) {
    return WebAnswer{200, "application/json", watch.latest()->to_json()};
  });
  server.on("/metrics", [&watch](const std::string&) {
    return WebAnswer{200, "text/plain; version=0.0.4; charset=utf-8", watch.latest()->to_prometheus()};
  });
  server.on("/pictures\\.json", [&previews](const std::string&) {
    std::string streams;
    for (const auto& [stream, jpeg] : previews.all()) streams += (streams.empty() ? "" : ",") + std::to_string(stream);
    return WebAnswer{200, "application/json", "[" + streams + "]"};
  });
  server.on("/picture/([0-9]{1,6})\\.jpg", [&previews](const std::string& stream) {
    const auto jpeg = previews.latest(static_cast<std::uint32_t>(std::stoul(stream)));
    return jpeg ? WebAnswer{200, "image/jpeg", *jpeg} : WebAnswer{404, "text/plain", "no picture of this stream yet\n"};
  });
}

std::string page_of(const PipelineReport& report, const Previews& previews) {
  constexpr std::string_view kPlace = "const report = null;";
  std::string pictures;
  for (const auto& [stream, jpeg] : previews.all())
    pictures += (pictures.empty() ? "\"" : ",\"") + std::to_string(stream) + "\":\"data:image/jpeg;base64," +
                base64(*jpeg) + "\"";
  std::string page = page::pipeline;
  const std::size_t place = page.find(kPlace);
  if (place == std::string::npos) throw Error(Code::kInternal, "the page has no place for a report");
  return page.replace(place, kPlace.size(),
                      "const report = {state: " + in_script(report.to_json()) + ", pictures: {" + pictures + "}};");
}

}  // namespace tenon::tool
