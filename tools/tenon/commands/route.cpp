// SPDX-License-Identifier: Apache-2.0
// tenon route: shows the cheapest way between two contexts, and why others were refused.
#include <fmt/core.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <tenon/core/pixel_format.hpp>
#include <tenon/core/router.hpp>
#include <tenon/runtime/properties.hpp>

#include <tenon/tools/tenon/commands/commands.hpp>
#include <tenon/tools/tenon/shared/json_text.hpp>
#include <tenon/tools/tenon/shared/known_contexts.hpp>
#include <tenon/tools/tenon/shared/option_checks.hpp>

namespace tenon::tool {
namespace {

struct RouteOptions {
  std::string from, to, format, size = "1920x1080", policy = "prefer";
  bool write = false, explain = false, json = false;
};

Ref<Memory> memory_in(const Context& context, std::size_t size_bytes) {
  Requirements wanted;
  wanted.size_bytes = size_bytes;
  wanted.alignment = 4096;
  return context->allocate(wanted);
}

/// @errors kInvalidArgument: no such format
FrameInfo frame_of(const RouteOptions& options, PictureSize size) {
  const auto format = format_from_name(options.format);
  if (!format)
    throw Error(Code::kInvalidArgument,
                "--format '" + options.format + "' is not a pixel format; try nv12, i420, p010, rgb, bgr, gray8");
  return FrameInfo{*format, size.width_px, size.height_px};
}

Ref<const Route> plan_route(const RouteOptions& options, const Router& router) {
  const Context from = find_context(router, options.from), to = find_context(router, options.to);
  const auto policy = Any(options.policy).as<ZeroCopy>();
  const Access access = options.write ? Access::kReadWrite : Access::kRead;
  const PictureSize size = picture_size(options.size);
  if (options.format.empty()) {
    const std::size_t bytes = 1 << 20;
    return router.plan(describe(Tensor({ElementType::kU8, {bytes}, {}}, memory_in(from, bytes))), to, access, policy);
  }
  const FrameInfo info = frame_of(options, size);
  Requirements layout;
  layout.pitch_alignment = 64;
  const Frame frame = Frame::over(info, memory_in(from, Frame::size_bytes_for(info, layout)), layout);
  return router.plan(describe(frame), to, access, policy);
}

nlohmann::json hops_json(const Route& route) {
  nlohmann::json hops = nlohmann::json::array();
  for (std::size_t i = 0; i < route.hops().size(); ++i) {
    const Hop& hop = route.hops()[i];
    const auto& wait = route.host_wait();
    hops.push_back({{"edge", hop.edge->name()},
                    {"to", hop.to->name()},
                    {"copies", hop.reached.copies},
                    {"estimated_ns", hop.reached.total_ns()},
                    {"host_wait", wait && wait->hop == i ? nlohmann::json(wait->reason) : nlohmann::json()}});
  }
  return hops;
}

void show_route(const RouteOptions& options) {
  Router router;
  add_known_contexts(router);
  const auto plan = plan_route(options, router);
  if (options.json) {
    nlohmann::json planes = nlohmann::json::array();
    for (const auto& plane : plan->planes()) planes.push_back(hops_json(*plane));
    fmt::print("{}", json_text(nlohmann::json{{"possible", plan->possible()},
                                              {"copies", plan->copies()},
                                              {"hops", hops_json(*plan)},
                                              {"planes", planes},
                                              {"explanation", plan->explain()}}));
  } else {
    const std::string text = plan->explain();
    // Without --explain only the route taken; a refusal always explains itself.
    const auto refused = text.find("\n  refused");
    fmt::print("{}\n",
               options.explain || !plan->possible() || refused == std::string::npos ? text : text.substr(0, refused));
  }
  if (!plan->possible()) throw CLI::RuntimeError(1);
}

}  // namespace

void add_route(CLI::App& app) {
  auto* command = app.add_subcommand("route", "Show the cheapest way from one context to another");
  auto options = std::make_shared<RouteOptions>();
  command->add_option("from", options->from, "Context that has the memory (see tenon matrix)")->required();
  command->add_option("to", options->to, "Context that needs the memory")->required();
  command->add_option("--format", options->format, "Route a frame of this pixel format: nv12, i420, rgb, ...");
  command->add_option("--size", options->size, "Size of the frame in pixels")->capture_default_str();
  command->add_option("--policy", options->policy, "Whether copies are allowed")
      ->check(CLI::IsMember({"require", "prefer", "allow"}))
      ->capture_default_str();
  command->add_flag("--write", options->write, "The target also writes");
  command->add_flag("--explain", options->explain, "Also show every way that was refused, and why");
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([options] { show_route(*options); });
}

}  // namespace tenon::tool
