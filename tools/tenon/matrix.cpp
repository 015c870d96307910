// SPDX-License-Identifier: Apache-2.0
// tenon matrix and tenon route: which pairs of contexts truly share memory on this machine, and by which way.
#include <fmt/core.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <tenon/core/host.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/core/proof.hpp>
#include <tenon/core/router.hpp>
#include <tenon/frameworks/cpu/shared_memory.hpp>

#include "commands.hpp"
#include "text_table.hpp"

namespace tenon::tool {
namespace {

void fill(Router& router) {
  for (const Context& context : known_contexts()) router.add(context);
}

std::string known_names(const Router& router) {
  std::string names;
  for (const Context& context : router.contexts()) names += " " + std::string(context->name());
  return names;
}

Context find_context(const Router& router, const std::string& name) {
  for (const Context& context : router.contexts()) {
    if (context->name() == name || context->kind().name() == name) return context;
  }
  throw Error(Code::kNotFound, "no context '" + name + "' on this machine; there are:" + known_names(router));
}

std::string in_ns(double ns) {
  if (ns <= 0) return "";
  return ns < 10000 ? fmt::format("{:.0f} ns", ns) : fmt::format("{:.1f} us", ns / 1000);
}

void show_matrix(bool json) {
  Router router;
  fill(router);
  nlohmann::json pairs = nlohmann::json::array();
  std::vector<std::vector<std::string>> rows{{"from", "to", "result", "first map", "repeated", "way or reason"}};
  for (const Context& from : router.contexts()) {
    for (const Context& to : router.contexts()) {
      if (from == to) continue;
      // Host memory has a descriptor only when frameworks/cpu makes it.
      const ProofResult proof =
          from == host_context() ? prove(router, from, to, 1 << 20, &cpu::allocate_memory) : prove(router, from, to);
      std::string way;
      for (const std::string& edge : proof.edges) way += (way.empty() ? "" : ", ") + edge;
      pairs.push_back({{"from", from->name()},
                       {"to", to->name()},
                       {"result", name(proof.proof)},
                       {"reason", proof.reason},
                       {"first_ns", proof.first_ns},
                       {"repeat_ns", proof.repeat_ns},
                       {"edges", proof.edges}});
      const std::string first_line = proof.reason.substr(0, proof.reason.find('\n'));
      rows.push_back({std::string(from->name()), std::string(to->name()), std::string(name(proof.proof)),
                      in_ns(proof.first_ns), in_ns(proof.repeat_ns), proof.reason.empty() ? way : first_line});
    }
  }
  if (json) {
    fmt::print("{}\n", nlohmann::json{{"pairs", pairs}}.dump(2));
  } else {
    fmt::print(
        "{}\nproved: written through one side and read through the other, here and now. claimed: the API says so, not "
        "testable.\n",
        text_table(rows));
  }
}

struct RouteOptions {
  std::string from, to, format, size = "1920x1080", policy = "prefer";
  bool write = false, explain = false, json = false;
};

Description describe_source(const RouteOptions& options, const Context& from) {
  TensorInfo info{ElementType::kU8, {1 << 20}, {}};
  if (!options.format.empty()) {
    const auto format = format_from_name(options.format);
    if (!format)
      throw Error(Code::kInvalidArgument,
                  "--format '" + options.format + "' is no pixel format; try nv12, i420, p010, rgb, bgr, gray8");
    FrameInfo frame{*format, 0, 0};
    if (std::sscanf(options.size.c_str(), "%ux%u", &frame.width_px, &frame.height_px) != 2) {
      throw Error(Code::kInvalidArgument, "--size '" + options.size + "' is not WIDTHxHEIGHT");
    }
    info = Frame::allocate(frame).plane(0).info();
  }
  Requirements wanted;
  wanted.size_bytes = checked_extent_bytes(info).value_or(0);
  wanted.alignment = 4096;
  return describe(Tensor(info, from->allocate(wanted)));
}

void show_route(const RouteOptions& options) {
  Router router;
  fill(router);
  const Context from = find_context(router, options.from), to = find_context(router, options.to);
  const ZeroCopy policy = options.policy == "require" ? ZeroCopy::kRequire
                          : options.policy == "allow" ? ZeroCopy::kAllow
                                                      : ZeroCopy::kPrefer;
  const auto plan =
      router.plan(describe_source(options, from), to, options.write ? Access::kReadWrite : Access::kRead, policy);
  if (options.json) {
    nlohmann::json hops = nlohmann::json::array();
    for (const Hop& hop : plan->hops()) {
      hops.push_back({{"edge", hop.edge->name()},
                      {"to", hop.to->name()},
                      {"copies", hop.reached.copies},
                      {"estimated_ns", hop.reached.total_ns()}});
    }
    fmt::print("{}\n", nlohmann::json{{"possible", plan->possible()},
                                      {"copies", plan->copies()},
                                      {"hops", hops},
                                      {"explanation", plan->explain()}}
                           .dump(2));
  } else {
    const std::string text = plan->explain();
    // Without --explain only the way taken; a refusal always explains itself.
    const auto refused = text.find("\n  refused");
    fmt::print("{}\n",
               options.explain || !plan->possible() || refused == std::string::npos ? text : text.substr(0, refused));
  }
  if (!plan->possible()) throw CLI::RuntimeError(1);
}

}  // namespace

void add_matrix(CLI::App& app) {
  auto* command = app.add_subcommand("matrix", "Test which pairs of frameworks truly share memory on this machine");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "Print {pairs: [{from, to, result, reason, first_ns, repeat_ns}]}");
  command->callback([json] { show_matrix(*json); });
}

void add_route(CLI::App& app) {
  auto* command = app.add_subcommand("route", "Show the cheapest way from one context to another");
  auto options = std::make_shared<RouteOptions>();
  command->add_option("from", options->from, "Context that has the memory (see tenon matrix)")->required();
  command->add_option("to", options->to, "Context that wants it")->required();
  command->add_option("--format", options->format, "Route the first plane of such a frame: nv12, i420, rgb, ...");
  command->add_option("--size", options->size, "Of the frame, px")->capture_default_str();
  command->add_option("--policy", options->policy, "What is allowed")
      ->check(CLI::IsMember({"require", "prefer", "allow"}))
      ->capture_default_str();
  command->add_flag("--write", options->write, "The target writes too");
  command->add_flag("--explain", options->explain, "Also show every way that was refused, and why");
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([options] { show_route(*options); });
}

}  // namespace tenon::tool
