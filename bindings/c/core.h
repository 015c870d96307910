/* SPDX-License-Identifier: Apache-2.0 */
/* Core. Generated from api/core.toml by generate.py. */
/* clang-format off */
#ifndef TENON_BINDINGS_C_CORE_H
#define TENON_BINDINGS_C_CORE_H

#include <tenon/bindings/c/base.h>
#include <tenon/bindings/c/properties.h>
#include <tenon/bindings/c/frame.h>
#include <tenon/bindings/c/ledger.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Reads models, finds devices, compiles. Devices are named as "CPU", or "GPU.1" with an id. */

/* What a compilation may be told. */
typedef struct tenon_compile_options {
  size_t struct_size;
  const tenon_property_t* properties; /* Settings as text; NULL when there are none. */
  size_t property_count;
  tenon_zero_copy_t zero_copy;
  /* When not NULL, the first input takes frames of this kind, compiled now instead of at the first frame. */
  const tenon_frame_info_t* frames;
  /* Settings as typed values, over those above; NULL when there are none. */
  const tenon_properties_t* typed_properties;
} tenon_compile_options_t;

/* Of a device and the runtime under it. Texts are valid as long as the list. */
typedef struct tenon_device_version {
  size_t struct_size;
  const char* device;
  const char* build_number;
  const char* description;
} tenon_device_version_t;

/* A core with no device loaded: each is loaded when it is first asked for. */
TENON_C_API tenon_status_t tenon_core_create(tenon_core_t** out);

/* Names of the devices that work on this machine. */
TENON_C_API tenon_status_t tenon_core_get_available_devices(const tenon_core_t* core, tenon_strings_t** out);

/* Devices that are known but do not work here, each with the reason. */
TENON_C_API tenon_status_t tenon_core_get_unavailable_devices(const tenon_core_t* core, tenon_properties_t** out);

/*
 * Of one device.
 * device NULL: all devices. Statuses: NOT_FOUND, UNAVAILABLE.
 */
TENON_C_API tenon_status_t tenon_core_get_versions(const tenon_core_t* core, const char* device,
    tenon_device_versions_t** out);

/* Number of devices. */
TENON_C_API size_t tenon_device_versions_count(const tenon_device_versions_t* versions);

/*
 * One device. version->struct_size must be set.
 * Statuses: OUT_OF_RANGE.
 */
TENON_C_API tenon_status_t tenon_device_versions_get(const tenon_device_versions_t* versions, size_t index,
    tenon_device_version_t* version);

/*
 * A property as text.
 * device NULL: the core's own. Statuses: NOT_FOUND, UNAVAILABLE.
 */
TENON_C_API tenon_status_t tenon_core_get_property(const tenon_core_t* core, const char* device, const char* key,
    char** out);

/*
 * A property, typed.
 * device NULL: the core's own. arguments NULL: none. Statuses: NOT_FOUND, UNAVAILABLE.
 */
TENON_C_API tenon_status_t tenon_core_get_value(const tenon_core_t* core, const char* device, const char* key,
    const tenon_properties_t* arguments, tenon_value_t** out);

/*
 * Settings as text, for later compilations; all or nothing.
 * device NULL: the core's own. properties: count elements. Statuses: NOT_FOUND, UNAVAILABLE.
 */
TENON_C_API tenon_status_t tenon_core_set_properties(tenon_core_t* core, const char* device,
    const tenon_property_t* properties, size_t count);

/*
 * Settings as typed values, for later compilations; all or nothing.
 * device NULL: the core's own. Statuses: NOT_FOUND, UNAVAILABLE.
 */
TENON_C_API tenon_status_t tenon_core_set_values(tenon_core_t* core, const char* device,
    const tenon_properties_t* properties);

/*
 * An ONNX file, or the .xml of an OpenVINO IR. Weights are mapped from the file, not copied.
 * weights_path NULL: found by the model's path. Statuses: NOT_FOUND, UNIMPLEMENTED, DATA_LOSS.
 */
TENON_C_API tenon_status_t tenon_core_read_model(const tenon_core_t* core, const char* model_path,
    const char* weights_path, tenon_model_t** out);

/*
 * The bytes of an ONNX file (which are copied), or the XML of an IR with its weights (whose memory is shared).
 * model: model_size bytes. weights NULL: none, or an ONNX file. Statuses: UNIMPLEMENTED, DATA_LOSS.
 */
TENON_C_API tenon_status_t tenon_core_read_model_from_memory(const tenon_core_t* core, const void* model,
    size_t model_size, const tenon_tensor_t* weights, tenon_model_t** out);

/*
 * Compiles a model, which may be changed or freed afterwards.
 * device NULL: AUTO: the first that runs the whole model. options NULL: what the core and the device are set to.
 * Statuses: NOT_FOUND, UNAVAILABLE, UNIMPLEMENTED.
 */
TENON_C_API tenon_status_t tenon_core_compile_model(tenon_core_t* core, const tenon_model_t* model,
    const char* device, const tenon_compile_options_t* options, tenon_compiled_model_t** out);

/*
 * Reads and compiles a model; with CACHE_DIR set, an entry of the cache spares both.
 * device NULL: AUTO: the first that runs the whole model. options NULL: what the core and the device are set to.
 * Statuses: NOT_FOUND, UNAVAILABLE, UNIMPLEMENTED, DATA_LOSS.
 */
TENON_C_API tenon_status_t tenon_core_compile_model_from_file(tenon_core_t* core, const char* model_path,
    const char* device, const tenon_compile_options_t* options, tenon_compiled_model_t** out);

/*
 * Compiles a model for the device of a context, whose tensors it then takes in place.
 * options NULL: what the core and the device are set to. Statuses: UNAVAILABLE, UNIMPLEMENTED.
 */
TENON_C_API tenon_status_t tenon_core_compile_model_in_context(tenon_core_t* core, const tenon_model_t* model,
    const tenon_remote_context_t* context, const tenon_compile_options_t* options, tenon_compiled_model_t** out);

/*
 * A compiled model that tenon_compiled_model_export_file wrote.
 * options NULL: what the core and the device are set to. Statuses: NOT_FOUND, UNAVAILABLE, UNIMPLEMENTED,
 * DATA_LOSS.
 */
TENON_C_API tenon_status_t tenon_core_import_file(tenon_core_t* core, const char* path, const char* device,
    const tenon_compile_options_t* options, tenon_compiled_model_t** out);

/*
 * A compiled model that tenon_compiled_model_export_memory gave.
 * options NULL: what the core and the device are set to. Statuses: NOT_FOUND, UNAVAILABLE, UNIMPLEMENTED,
 * DATA_LOSS.
 */
TENON_C_API tenon_status_t tenon_core_import_memory(tenon_core_t* core, const tenon_tensor_t* blob,
    const char* device, const tenon_compile_options_t* options, tenon_compiled_model_t** out);

/*
 * A compiled model from a file, in a context of its device.
 * options NULL: what the core and the device are set to. Statuses: NOT_FOUND, UNIMPLEMENTED, DATA_LOSS.
 */
TENON_C_API tenon_status_t tenon_core_import_file_in_context(tenon_core_t* core, const char* path,
    const tenon_remote_context_t* context, const tenon_compile_options_t* options, tenon_compiled_model_t** out);

/*
 * A compiled model from memory, in a context of its device.
 * options NULL: what the core and the device are set to. Statuses: UNIMPLEMENTED, DATA_LOSS.
 */
TENON_C_API tenon_status_t tenon_core_import_memory_in_context(tenon_core_t* core, const tenon_tensor_t* blob,
    const tenon_remote_context_t* context, const tenon_compile_options_t* options, tenon_compiled_model_t** out);

/*
 * Which nodes a device runs: a map from the node's name to the device. What is missing it does not run.
 * properties NULL: none. Statuses: NOT_FOUND, UNAVAILABLE.
 */
TENON_C_API tenon_status_t tenon_core_query_model(const tenon_core_t* core, const tenon_model_t* model,
    const char* device, const tenon_properties_t* properties, tenon_properties_t** out);

/*
 * Loads a device module from a path under a name of the caller's choice.
 * properties NULL: none. Statuses: UNAVAILABLE, ALREADY_EXISTS.
 */
TENON_C_API tenon_status_t tenon_core_register_device(tenon_core_t* core, const char* path, const char* device,
    const tenon_properties_t* properties);

/*
 * Forgets this core's device and its properties; models compiled on it go on.
 * Statuses: NOT_FOUND.
 */
TENON_C_API tenon_status_t tenon_core_unload_device(tenon_core_t* core, const char* device);

/* Frees the handle. */
TENON_C_API void tenon_core_free(tenon_core_t* core);

/* Frees the handle. */
TENON_C_API void tenon_device_versions_free(tenon_device_versions_t* device_versions);

#ifdef __cplusplus
}
#endif

#endif
