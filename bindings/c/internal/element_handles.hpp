// SPDX-License-Identifier: Apache-2.0
// The objects behind handles of elements and pipelines.
#pragma once

#include <tenon/bindings/c/tenon.h>

#include <utility>
#include <vector>

#include <tenon/bindings/c/internal/handles.hpp>
#include <tenon/elements/element.hpp>
#include <tenon/elements/parameters.hpp>
#include <tenon/elements/pipeline.hpp>

/// Lives within the create callback.
struct tenon_parameters : tenon::c::Handle<tenon_parameters> {
  static constexpr const char* kType = "tenon_parameters_t";
  tenon_parameters(const tenon::elements::Parameters& given, const std::vector<tenon::elements::Parameter>& all)
      : value(given), known(all) {}
  const tenon::elements::Parameters& value;
  const std::vector<tenon::elements::Parameter>& known;
};
/// Lives within a transform's callback.
struct tenon_output : tenon::c::Handle<tenon_output> {
  static constexpr const char* kType = "tenon_output_t";
  explicit tenon_output(tenon::elements::Output& to) : value(to) {}
  tenon::elements::Output& value;
};
struct tenon_pipeline : tenon::c::Handle<tenon_pipeline> {
  static constexpr const char* kType = "tenon_pipeline_t";
  explicit tenon_pipeline(const tenon::elements::PipelineSpec& spec) : value(spec) {}
  tenon::elements::Pipeline value;
};
struct tenon_node_stats_list : tenon::c::Handle<tenon_node_stats_list> {
  static constexpr const char* kType = "tenon_node_stats_list_t";
  explicit tenon_node_stats_list(std::vector<tenon::elements::NodeStats> from) : values(std::move(from)) {}
  std::vector<tenon::elements::NodeStats> values;
};
struct tenon_failures : tenon::c::Handle<tenon_failures> {
  static constexpr const char* kType = "tenon_failures_t";
  explicit tenon_failures(std::vector<tenon::elements::Failure> from) : values(std::move(from)) {}
  std::vector<tenon::elements::Failure> values;
};
