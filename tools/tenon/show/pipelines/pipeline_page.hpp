// SPDX-License-Identifier: Apache-2.0
// The page that shows a pipeline: live from a server, or as one file at the end.
#pragma once

#include <string>

#include <tenon/tools/tenon/show/pictures/preview.hpp>
#include <tenon/tools/tenon/show/pipelines/pipeline_report.hpp>

namespace tenon::tool {

class WebServer;

/// Answers for the page, its state (state.json), its pictures and Prometheus (metrics). All three must outlive the server.
void serve_pipeline(WebServer& server, const PipelineWatch& watch, Previews& previews);

/// The page with state and pictures in it: needs no server.
std::string page_of(const PipelineReport& report, const Previews& previews);

}  // namespace tenon::tool
