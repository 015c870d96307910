// SPDX-License-Identifier: Apache-2.0
// Core: devices and their properties, reading, compiling and importing models.
#include <tenon/core/mapped_file.hpp>

#include <tenon/bindings/c/internal/guard.hpp>

tenon_device_versions::tenon_device_versions(const std::map<std::string, tenon::Version>& from) {
  for (const auto& [device, version] : from) values.push_back({device, version.buildNumber, version.description});
}

namespace tenon::c {
namespace {

Core& value_of(const tenon_core_t* core) { return checked(core, "core").value; }
const char* text_or(const char* text, const char* fallback) { return text ? text : fallback; }

AnyMap properties_of(const tenon_compile_options_t* options) {
  if (!options) return {};
  const tenon_compile_options_t given = read_struct(options, "options");
  AnyMap properties = text_properties(given.properties, given.property_count);
  for (auto& [key, value] : runtime_properties(given.typed_properties, "options->typed_properties"))
    properties[key] = value;
  const ZeroCopy policy = policy_of(given.zero_copy);
  if (given.zero_copy != TENON_ZERO_COPY_DEFAULT) properties.insert(zero_copy(policy));
  if (given.frames) properties.insert(input_frames(frame_info_of(given.frames, "options->frames")));
  return properties;
}

}  // namespace
}  // namespace tenon::c

using namespace tenon::c;

tenon_status_t tenon_core_create(tenon_core_t** out) {
  return run([&] {
    *required(out, "out") = nullptr;
    *out = new tenon_core;
  });
}
void tenon_core_free(tenon_core_t* core) { free_handle(core); }

tenon_status_t tenon_core_get_available_devices(const tenon_core_t* core, tenon_strings_t** out) {
  return make(out, [&] { return value_of(core).get_available_devices(); });
}
tenon_status_t tenon_core_get_unavailable_devices(const tenon_core_t* core, tenon_properties_t** out) {
  return make(out, [&] {
    tenon::AnyMap reasons;
    for (const auto& [device, reason] : value_of(core).get_unavailable_devices()) reasons[device] = tenon::Any(reason);
    return reasons;
  });
}
tenon_status_t tenon_core_get_versions(const tenon_core_t* core, const char* device, tenon_device_versions_t** out) {
  return make(out, [&] { return value_of(core).get_versions(text_or(device, "")); });
}
size_t tenon_device_versions_count(const tenon_device_versions_t* versions) {
  return ask(versions, size_t{0}, [](const tenon_device_versions& list) { return list.values.size(); });
}
tenon_status_t tenon_device_versions_get(const tenon_device_versions_t* versions, size_t index,
                                         tenon_device_version_t* version) {
  return run([&] {
    const auto& values = checked(versions, "versions").values;
    required(version, "version");
    if (index >= values.size()) refuse_past_end("version", index, values.size());
    tenon_device_version_t value{};
    value.device = values[index].device.c_str();
    value.build_number = values[index].build_number.c_str();
    value.description = values[index].description.c_str();
    write_struct(version, value, "version");
  });
}
void tenon_device_versions_free(tenon_device_versions_t* versions) { free_handle(versions); }

tenon_status_t tenon_core_get_property(const tenon_core_t* core, const char* device, const char* key, char** out) {
  return give_text(out, [&] {
    tenon::Core& value = value_of(core);
    return value.get_property(text_or(device, ""), std::string(required(key, "key"))).to_text();
  });
}
tenon_status_t tenon_core_get_value(const tenon_core_t* core, const char* device, const char* key,
                                    const tenon_properties_t* arguments, tenon_value_t** out) {
  return make(out, [&] {
    tenon::Core& value = value_of(core);
    return value.get_property(text_or(device, ""), std::string(required(key, "key")),
                              runtime_properties(arguments, "arguments"));
  });
}
tenon_status_t tenon_core_set_properties(tenon_core_t* core, const char* device, const tenon_property_t* properties,
                                         size_t count) {
  return run([&] {
    tenon::Core& value = value_of(core);
    value.set_property(std::string(text_or(device, "")), text_properties(properties, count));
  });
}
tenon_status_t tenon_core_set_values(tenon_core_t* core, const char* device, const tenon_properties_t* properties) {
  return run([&] {
    tenon::Core& value = value_of(core);
    value.set_property(std::string(text_or(device, "")),
                       runtime_properties(required(properties, "properties"), "properties"));
  });
}

tenon_status_t tenon_core_read_model(const tenon_core_t* core, const char* model_path, const char* weights_path,
                                     tenon_model_t** out) {
  return make(out, [&] {
    tenon::Core& value = value_of(core);
    return value.read_model(required(model_path, "model_path"), text_or(weights_path, ""));
  });
}
tenon_status_t tenon_core_read_model_from_memory(const tenon_core_t* core, const void* model, size_t model_size,
                                                 const tenon_tensor_t* weights, tenon_model_t** out) {
  return make(out, [&] {
    tenon::Core& value = value_of(core);
    required(model, "model");
    if (model_size == 0) refuse("the model is empty: model_size is 0");
    const tenon_tensor_t* given = optional_handle(weights, "weights");
    return value.read_model(std::string(static_cast<const char*>(model), model_size),
                            given ? given->value : tenon::Tensor());
  });
}

tenon_status_t tenon_core_compile_model(tenon_core_t* core, const tenon_model_t* model, const char* device,
                                        const tenon_compile_options_t* options, tenon_compiled_model_t** out) {
  return make(out, [&] {
    tenon::Core& value = value_of(core);
    const auto& source = checked(model, "model").value;
    return value.compile_model(source, std::string(text_or(device, "AUTO")), properties_of(options));
  });
}
tenon_status_t tenon_core_compile_model_from_file(tenon_core_t* core, const char* model_path, const char* device,
                                                  const tenon_compile_options_t* options,
                                                  tenon_compiled_model_t** out) {
  return make(out, [&] {
    tenon::Core& value = value_of(core);
    required(model_path, "model_path");
    return value.compile_model(std::filesystem::path(model_path), std::string(text_or(device, "AUTO")),
                               properties_of(options));
  });
}
tenon_status_t tenon_core_compile_model_in_context(tenon_core_t* core, const tenon_model_t* model,
                                                   const tenon_remote_context_t* context,
                                                   const tenon_compile_options_t* options,
                                                   tenon_compiled_model_t** out) {
  return make(out, [&] {
    tenon::Core& value = value_of(core);
    const auto& source = checked(model, "model").value;
    const tenon::RemoteContext& place = checked(context, "context").value;
    return value.compile_model(source, place, properties_of(options));
  });
}
tenon_status_t tenon_core_import_file(tenon_core_t* core, const char* path, const char* device,
                                      const tenon_compile_options_t* options, tenon_compiled_model_t** out) {
  return make(out, [&] {
    tenon::Core& value = value_of(core);
    required(path, "path");
    required(device, "device");
    return value.import_model(tenon::map_file(path), device, properties_of(options));
  });
}
tenon_status_t tenon_core_import_memory(tenon_core_t* core, const tenon_tensor_t* blob, const char* device,
                                        const tenon_compile_options_t* options, tenon_compiled_model_t** out) {
  return make(out, [&] {
    tenon::Core& value = value_of(core);
    const tenon::Tensor& bytes = checked(blob, "blob").value;
    return value.import_model(bytes, required(device, "device"), properties_of(options));
  });
}
tenon_status_t tenon_core_import_file_in_context(tenon_core_t* core, const char* path,
                                                 const tenon_remote_context_t* context,
                                                 const tenon_compile_options_t* options, tenon_compiled_model_t** out) {
  return make(out, [&] {
    tenon::Core& value = value_of(core);
    required(path, "path");
    const tenon::RemoteContext& place = checked(context, "context").value;
    return value.import_model(tenon::map_file(path), place, properties_of(options));
  });
}
tenon_status_t tenon_core_import_memory_in_context(tenon_core_t* core, const tenon_tensor_t* blob,
                                                   const tenon_remote_context_t* context,
                                                   const tenon_compile_options_t* options,
                                                   tenon_compiled_model_t** out) {
  return make(out, [&] {
    tenon::Core& value = value_of(core);
    const tenon::Tensor& bytes = checked(blob, "blob").value;
    const tenon::RemoteContext& place = checked(context, "context").value;
    return value.import_model(bytes, place, properties_of(options));
  });
}
tenon_status_t tenon_core_query_model(const tenon_core_t* core, const tenon_model_t* model, const char* device,
                                      const tenon_properties_t* properties, tenon_properties_t** out) {
  return make(out, [&] {
    tenon::Core& value = value_of(core);
    const auto& source = checked(model, "model").value;
    required(device, "device");
    tenon::AnyMap supported;
    for (const auto& [node, runs_on] :
         value.query_model(source, std::string(device), runtime_properties(properties, "properties")))
      supported[node] = tenon::Any(runs_on);
    return supported;
  });
}
tenon_status_t tenon_core_register_device(tenon_core_t* core, const char* path, const char* device,
                                          const tenon_properties_t* properties) {
  return run([&] {
    tenon::Core& value = value_of(core);
    required(path, "path");
    value.register_plugin(path, required(device, "device"), runtime_properties(properties, "properties"));
  });
}
tenon_status_t tenon_core_unload_device(tenon_core_t* core, const char* device) {
  return run([&] {
    tenon::Core& value = value_of(core);
    value.unload_plugin(required(device, "device"));
  });
}
