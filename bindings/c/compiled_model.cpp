// SPDX-License-Identifier: Apache-2.0
// Compiled models: ports, properties, requests, export.
#include <algorithm>
#include <sstream>

#include <tenon/core/file_stream.hpp>
#include <tenon/graph/input_stage/geometry.hpp>

#include <tenon/bindings/c/internal/guard.hpp>
#include <tenon/bindings/c/internal/port.hpp>

tenon_compiled_model::tenon_compiled_model(tenon::CompiledModel from) : value(std::move(from)) {
  input_names = tenon::c::names_of(value.inputs());
  output_names = tenon::c::names_of(value.outputs());
}

namespace tenon::c {
namespace {

CompiledModel& value_of(const tenon_compiled_model_t* model) { return checked(model, "model").value; }

/// Names of kinds are literals, so that they end with a zero.
template <typename Kind>
const char* name_of(const Kind& kind) {
  return kind.name().empty() ? "" : kind.name().data();
}

/// To a file beside `path`, which then takes its place: whole or not at all, whichever threads and processes export to it.
void export_to(CompiledModel& model, const std::string& path) {
  NewFileStream file(path);
  model.export_model(file);
  file.commit();
}

}  // namespace
}  // namespace tenon::c

using namespace tenon::c;

size_t tenon_compiled_model_input_count(const tenon_compiled_model_t* model) {
  return ask(model, size_t{0}, [](const tenon_compiled_model& held) { return held.input_names.size(); });
}
size_t tenon_compiled_model_output_count(const tenon_compiled_model_t* model) {
  return ask(model, size_t{0}, [](const tenon_compiled_model& held) { return held.output_names.size(); });
}
tenon_status_t tenon_compiled_model_input_info(const tenon_compiled_model_t* model, size_t index,
                                               tenon_port_info_t* info) {
  return run([&] { write_indexed(value_of(model).inputs(), model->input_names, index, info); });
}
tenon_status_t tenon_compiled_model_output_info(const tenon_compiled_model_t* model, size_t index,
                                                tenon_port_info_t* info) {
  return run([&] { write_indexed(value_of(model).outputs(), model->output_names, index, info); });
}
tenon_status_t tenon_compiled_model_input(const tenon_compiled_model_t* model, tenon_port_t** out) {
  return make(out, [&] { return value_of(model).input(); });
}
tenon_status_t tenon_compiled_model_input_by_index(const tenon_compiled_model_t* model, size_t index,
                                                   tenon_port_t** out) {
  return make(out, [&] { return value_of(model).input(index); });
}
tenon_status_t tenon_compiled_model_input_by_name(const tenon_compiled_model_t* model, const char* name,
                                                  tenon_port_t** out) {
  return make(out, [&] {
    tenon::CompiledModel& value = value_of(model);
    return value.input(std::string(required(name, "name")));
  });
}
tenon_status_t tenon_compiled_model_output(const tenon_compiled_model_t* model, tenon_port_t** out) {
  return make(out, [&] { return value_of(model).output(); });
}
tenon_status_t tenon_compiled_model_output_by_index(const tenon_compiled_model_t* model, size_t index,
                                                    tenon_port_t** out) {
  return make(out, [&] { return value_of(model).output(index); });
}
tenon_status_t tenon_compiled_model_output_by_name(const tenon_compiled_model_t* model, const char* name,
                                                   tenon_port_t** out) {
  return make(out, [&] {
    tenon::CompiledModel& value = value_of(model);
    return value.output(std::string(required(name, "name")));
  });
}

tenon_status_t tenon_compiled_model_get_property(const tenon_compiled_model_t* model, const char* key, char** out) {
  return give_text(out, [&] {
    tenon::CompiledModel& value = value_of(model);
    return value.get_property(std::string(required(key, "key"))).to_text();
  });
}
tenon_status_t tenon_compiled_model_get_value(const tenon_compiled_model_t* model, const char* key,
                                              tenon_value_t** out) {
  return make(out, [&] {
    tenon::CompiledModel& value = value_of(model);
    return value.get_property(std::string(required(key, "key")));
  });
}
tenon_status_t tenon_compiled_model_set_properties(tenon_compiled_model_t* model,
                                                   const tenon_properties_t* properties) {
  return run([&] {
    tenon::CompiledModel& value = value_of(model);
    value.set_property(runtime_properties(required(properties, "properties"), "properties"));
  });
}
tenon_status_t tenon_compiled_model_create_infer_request(tenon_compiled_model_t* model, tenon_infer_request_t** out) {
  return make(out, [&] { return value_of(model).create_infer_request(); });
}
tenon_status_t tenon_compiled_model_get_runtime_model(const tenon_compiled_model_t* model, tenon_model_t** out) {
  return make(out, [&] { return value_of(model).get_runtime_model()->clone(); });
}
tenon_status_t tenon_compiled_model_export_file(const tenon_compiled_model_t* model, const char* path) {
  return run([&] {
    tenon::CompiledModel& value = value_of(model);
    export_to(value, required(path, "path"));
  });
}
tenon_status_t tenon_compiled_model_export_memory(const tenon_compiled_model_t* model, tenon_tensor_t** out) {
  return make(out, [&] {
    std::ostringstream stream;
    value_of(model).export_model(stream);
    const std::string_view bytes = stream.view();
    tenon::Tensor blob(tenon::element::u8, tenon::Shape{bytes.size()});
    if (!bytes.empty()) std::memcpy(blob.data(), bytes.data(), bytes.size());
    return blob;
  });
}
tenon_status_t tenon_compiled_model_frame_geometry(const tenon_compiled_model_t* model, const tenon_frame_info_t* info,
                                                   const char* input, tenon_frame_geometry_t* geometry) {
  return run([&] {
    tenon::CompiledModel& compiled = value_of(model);
    required(info, "info");
    required(geometry, "geometry");
    const tenon::FrameGeometry from = compiled.frame_geometry(frame_info_of(info, "info"), input ? input : "");
    tenon_frame_geometry_t value{};
    value.crop_x = from.crop.x;
    value.crop_y = from.crop.y;
    value.crop_width = from.crop.width;
    value.crop_height = from.crop.height;
    value.placed_x = from.placed.x;
    value.placed_y = from.placed.y;
    value.placed_width = from.placed.width;
    value.placed_height = from.placed.height;
    write_struct(geometry, value, "geometry");
  });
}
tenon_status_t tenon_compiled_model_requirements(const tenon_compiled_model_t* model,
                                                 tenon_requirements_t* requirements) {
  return run([&] {
    const tenon::Requirements from = value_of(model).requirements();
    tenon_requirements_t value{};
    value.size_bytes = from.size_bytes;
    value.alignment = from.alignment;
    value.pitch_alignment = from.pitch_alignment;
    value.height_alignment = from.height_alignment;
    value.tail_padding = from.tail_padding;
    value.max_pitch = from.max_pitch;
    value.fd = name_of(from.fd);
    value.host_access = from.host_access;
    value.contiguous = from.contiguous;
    // Fewer alternatives are a stricter requirement: memory that meets it meets the whole one, too.
    value.kind_count = std::min<size_t>(from.kinds.size(), TENON_MAX_ALTERNATIVES);
    for (size_t i = 0; i < value.kind_count; ++i) value.kinds[i] = name_of(from.kinds[i]);
    value.modifier_count = std::min<size_t>(from.modifiers.size(), TENON_MAX_ALTERNATIVES);
    std::copy_n(from.modifiers.begin(), value.modifier_count, value.modifiers);
    write_struct(requirements, value, "requirements");
  });
}
tenon_status_t tenon_compiled_model_release_memory(tenon_compiled_model_t* model) {
  return run([&] { value_of(model).release_memory(); });
}
void tenon_compiled_model_free(tenon_compiled_model_t* model) { free_handle(model); }
