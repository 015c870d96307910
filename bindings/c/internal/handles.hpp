// SPDX-License-Identifier: Apache-2.0
// The objects behind opaque handles, and how invalid handles are detected.
#pragma once

#include <tenon/bindings/c/tenon.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/core/any.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/node.hpp>
#include <tenon/graph/partial_shape.hpp>
#include <tenon/runtime/compiled_model.hpp>
#include <tenon/runtime/core.hpp>
#include <tenon/runtime/infer_request.hpp>
#include <tenon/runtime/profiling_info.hpp>
#include <tenon/runtime/remote_context.hpp>
#include <tenon/runtime/runtime.hpp>  // IWYU pragma: export
#include <tenon/runtime/variable_state.hpp>
#include <tenon/runtime/version.hpp>

namespace tenon::c {

/// FNV-1a: a number for a type name.
constexpr std::uint64_t tag_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3u;
  return hash;
}

/// Base of every handle: its first word identifies the type and is cleared when it is freed.
template <typename Self>
struct Handle {
  std::uint64_t tag = tag_of(Self::kType);
  Handle() = default;
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { *const_cast<volatile std::uint64_t*>(&tag) = 0; }
};

}  // namespace tenon::c

struct tenon_strings : tenon::c::Handle<tenon_strings> {
  static constexpr const char* kType = "tenon_strings_t";
  explicit tenon_strings(std::vector<std::string> from) : values(std::move(from)) {}
  std::vector<std::string> values;
};
struct tenon_properties : tenon::c::Handle<tenon_properties> {
  static constexpr const char* kType = "tenon_properties_t";
  explicit tenon_properties(tenon::AnyMap from) : values(std::move(from)) {}
  tenon::AnyMap values;
};
struct tenon_value : tenon::c::Handle<tenon_value> {
  static constexpr const char* kType = "tenon_value_t";
  explicit tenon_value(tenon::Any from) : value(std::move(from)) {}
  tenon::Any value;
};
struct tenon_partial_shape : tenon::c::Handle<tenon_partial_shape> {
  static constexpr const char* kType = "tenon_partial_shape_t";
  explicit tenon_partial_shape(tenon::PartialShape from) : value(std::move(from)) {}
  tenon::PartialShape value;
};
struct tenon_tensor : tenon::c::Handle<tenon_tensor> {
  static constexpr const char* kType = "tenon_tensor_t";
  explicit tenon_tensor(tenon::Tensor from) : value(std::move(from)) {}
  tenon::Tensor value;
};
struct tenon_frame : tenon::c::Handle<tenon_frame> {
  static constexpr const char* kType = "tenon_frame_t";
  explicit tenon_frame(tenon::Frame from) : value(std::move(from)) {}
  tenon::Frame value;
};
struct tenon_port : tenon::c::Handle<tenon_port> {
  static constexpr const char* kType = "tenon_port_t";
  explicit tenon_port(tenon::Output<const tenon::Node> from) : value(std::move(from)) {}
  tenon::Output<const tenon::Node> value;
};
struct tenon_model : tenon::c::Handle<tenon_model> {
  static constexpr const char* kType = "tenon_model_t";
  explicit tenon_model(std::shared_ptr<tenon::Model> from);
  std::shared_ptr<tenon::Model> value;
  std::vector<std::string> input_names, output_names;  ///< tenon_port_info_t.name points to these.
};
struct tenon_remote_context : tenon::c::Handle<tenon_remote_context> {
  static constexpr const char* kType = "tenon_remote_context_t";
  explicit tenon_remote_context(tenon::RemoteContext from) : value(std::move(from)) {}
  mutable tenon::RemoteContext value;
};
struct tenon_ledger_entries : tenon::c::Handle<tenon_ledger_entries> {
  static constexpr const char* kType = "tenon_ledger_entries_t";
  explicit tenon_ledger_entries(std::vector<tenon::LedgerEntry> from) : values(std::move(from)) {}
  std::vector<tenon::LedgerEntry> values;
};
struct tenon_variable_state : tenon::c::Handle<tenon_variable_state> {
  static constexpr const char* kType = "tenon_variable_state_t";
  explicit tenon_variable_state(tenon::VariableState from) : value(std::move(from)) {}
  tenon::VariableState value;
};
struct tenon_variable_states : tenon::c::Handle<tenon_variable_states> {
  static constexpr const char* kType = "tenon_variable_states_t";
  explicit tenon_variable_states(std::vector<tenon::VariableState> from) : values(std::move(from)) {}
  std::vector<tenon::VariableState> values;
};
struct tenon_profiling : tenon::c::Handle<tenon_profiling> {
  static constexpr const char* kType = "tenon_profiling_t";
  explicit tenon_profiling(std::vector<tenon::ProfilingInfo> from) : values(std::move(from)) {}
  std::vector<tenon::ProfilingInfo> values;
};
struct tenon_device_versions : tenon::c::Handle<tenon_device_versions> {
  static constexpr const char* kType = "tenon_device_versions_t";
  explicit tenon_device_versions(const std::map<std::string, tenon::Version>& from);
  struct Entry {
    std::string device, build_number, description;
  };
  std::vector<Entry> values;
};
// `mutable`: these calls do not change what C callers see, but are non-const in C++.
struct tenon_infer_request : tenon::c::Handle<tenon_infer_request> {
  static constexpr const char* kType = "tenon_infer_request_t";
  explicit tenon_infer_request(tenon::InferRequest from) : value(std::move(from)) {}
  mutable tenon::InferRequest value;
};
struct tenon_compiled_model : tenon::c::Handle<tenon_compiled_model> {
  static constexpr const char* kType = "tenon_compiled_model_t";
  explicit tenon_compiled_model(tenon::CompiledModel from);
  mutable tenon::CompiledModel value;
  std::vector<std::string> input_names, output_names;
};
struct tenon_core : tenon::c::Handle<tenon_core> {
  static constexpr const char* kType = "tenon_core_t";
  mutable tenon::Core value;
};
