// SPDX-License-Identifier: Apache-2.0
// Sources are listed, added and removed by HTTP.
#pragma once

#include <tenon/elements/pipeline.hpp>

namespace tenon::tool {

class WebServer;

/// GET /sources.json, POST /sources with a source as elements::parse_source() reads it, DELETE /sources/NAME. The pipeline must outlive the
/// server. Answers name no credentials.
void serve_sources(WebServer& server, elements::Pipeline& pipeline);

}  // namespace tenon::tool
