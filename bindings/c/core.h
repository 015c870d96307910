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

/* Reads models, finds devices, compiles. A device name is e.g. "CPU", or "GPU.1" with an id. */

/* Options of a compilation. */
typedef struct tenon_compile_options {
  size_t struct_size;
  const tenon_property_t* properties; /* Settings as text; may be NULL. */
  size_t property_count;
  tenon_zero_copy_t zero_copy;
  /* If not NULL, the first input takes frames of this format, compiled now instead of at the first frame. */
  const tenon_frame_info_t* frames;
  const tenon_properties_t* typed_properties; /* Typed settings, which override those above; may be NULL. */
} tenon_compile_options_t;

/* Version of a device and its runtime. Texts are valid as long as the list. */
typedef struct tenon_device_version {
  size_t struct_size;
  const char* device;
  const char* build_number;
  const char* description;
} tenon_device_version_t;

/* Creates a core. Each device is loaded on first use. */
TENON_C_API tenon_status_t tenon_core_create(tenon_core_t** out);

/* Names of the devices that work on this machine. */
TENON_C_API tenon_status_t tenon_core_get_available_devices(const tenon_core_t* core, tenon_strings_t** out);

/* Known devices that do not work here, each with the reason. */
TENON_C_API tenon_status_t tenon_core_get_unavailable_devices(const tenon_core_t* core, tenon_properties_t** out);

/*
 * Versions of one device, or of all.
 * device NULL: all devices. Statuses: NOT_FOUND, UNAVAILABLE.
 */
TENON_C_API tenon_status_t tenon_core_get_versions(const tenon_core_t* core, const char* device,
    tenon_device_versions_t** out);

/* Number of devices. */
TENON_C_API size_t tenon_device_versions_count(const tenon_device_versions_t* versions);

/*
 * A version by position. version->struct_size must be set.
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
 * Sets properties as text, for later compilations; all or none.
 * device NULL: the core's own. properties: count elements. Statuses: NOT_FOUND, UNAVAILABLE.
 */
TENON_C_API tenon_status_t tenon_core_set_properties(tenon_core_t* core, const char* device,
    const tenon_property_t* properties, size_t count);

/*
 * Sets properties as typed values, for later compilations; all or none.
 * device NULL: the core's own. Statuses: NOT_FOUND, UNAVAILABLE.
 */
TENON_C_API tenon_status_t tenon_core_set_values(tenon_core_t* core, const char* device,
    const tenon_properties_t* properties);

/*
 * Reads an ONNX file, or the .xml of an OpenVINO IR. Weights are mapped from the file, not copied.
 * weights_path NULL: derived from the model's path. Statuses: NOT_FOUND, UNIMPLEMENTED, DATA_LOSS.
 */
TENON_C_API tenon_status_t tenon_core_read_model(const tenon_core_t* core, const char* model_path,
    const char* weights_path, tenon_model_t** out);

/*
 * Reads the bytes of an ONNX file (copied), or the XML of an IR with its weights (memory shared).
 * model: model_size bytes. weights NULL: none, or an ONNX file. Statuses: UNIMPLEMENTED, DATA_LOSS.
 */
TENON_C_API tenon_status_t tenon_core_read_model_from_memory(const tenon_core_t* core, const void* model,
    size_t model_size, const tenon_tensor_t* weights, tenon_model_t** out);

/*
 * Compiles a model, which may be changed or freed afterwards.
 * device NULL: AUTO: the first that runs the whole model. options NULL: the settings of the core and the device.
 * Statuses: NOT_FOUND, UNAVAILABLE, UNIMPLEMENTED.
 */
TENON_C_API tenon_status_t tenon_core_compile_model(tenon_core_t* core, const tenon_model_t* model,
    const char* device, const tenon_compile_options_t* options, tenon_compiled_model_t** out);

/*
 * Reads and compiles a model. With CACHE_DIR set, loads it from a cache entry if there is one.
 * device NULL: AUTO: the first that runs the whole model. options NULL: the settings of the core and the device.
 * Statuses: NOT_FOUND, UNAVAILABLE, UNIMPLEMENTED, DATA_LOSS.
 */
TENON_C_API tenon_status_t tenon_core_compile_model_from_file(tenon_core_t* core, const char* model_path,
    const char* device, const tenon_compile_options_t* options, tenon_compiled_model_t** out);

/*
 * Compiles a model for a context's device; it then uses the context's tensors in place.
 * options NULL: the settings of the core and the device. Statuses: UNAVAILABLE, UNIMPLEMENTED.
 */
TENON_C_API tenon_status_t tenon_core_compile_model_in_context(tenon_core_t* core, const tenon_model_t* model,
    const tenon_remote_context_t* context, const tenon_compile_options_t* options, tenon_compiled_model_t** out);

/*
 * Reads a compiled model written by tenon_compiled_model_export_file.
 * options NULL: the settings of the core and the device. Statuses: NOT_FOUND, UNAVAILABLE, UNIMPLEMENTED,
 * DATA_LOSS.
 */
TENON_C_API tenon_status_t tenon_core_import_file(tenon_core_t* core, const char* path, const char* device,
    const tenon_compile_options_t* options, tenon_compiled_model_t** out);

/*
 * Reads a compiled model from tenon_compiled_model_export_memory.
 * options NULL: the settings of the core and the device. Statuses: NOT_FOUND, UNAVAILABLE, UNIMPLEMENTED,
 * DATA_LOSS.
 */
TENON_C_API tenon_status_t tenon_core_import_memory(tenon_core_t* core, const tenon_tensor_t* blob,
    const char* device, const tenon_compile_options_t* options, tenon_compiled_model_t** out);

/*
 * Reads a compiled model from a file, in a context of its device.
 * options NULL: the settings of the core and the device. Statuses: NOT_FOUND, UNIMPLEMENTED, DATA_LOSS.
 */
TENON_C_API tenon_status_t tenon_core_import_file_in_context(tenon_core_t* core, const char* path,
    const tenon_remote_context_t* context, const tenon_compile_options_t* options, tenon_compiled_model_t** out);

/*
 * Reads a compiled model from memory, in a context of its device.
 * options NULL: the settings of the core and the device. Statuses: UNIMPLEMENTED, DATA_LOSS.
 */
TENON_C_API tenon_status_t tenon_core_import_memory_in_context(tenon_core_t* core, const tenon_tensor_t* blob,
    const tenon_remote_context_t* context, const tenon_compile_options_t* options, tenon_compiled_model_t** out);

/*
 * The nodes that a device supports: a map from node name to device. Unsupported nodes are missing.
 * properties NULL: none. Statuses: NOT_FOUND, UNAVAILABLE.
 */
TENON_C_API tenon_status_t tenon_core_query_model(const tenon_core_t* core, const tenon_model_t* model,
    const char* device, const tenon_properties_t* properties, tenon_properties_t** out);

/*
 * Loads a device module from a path under a name chosen by the caller.
 * properties NULL: none. Statuses: UNAVAILABLE, ALREADY_EXISTS.
 */
TENON_C_API tenon_status_t tenon_core_register_device(tenon_core_t* core, const char* path, const char* device,
    const tenon_properties_t* properties);

/*
 * Unloads this core's device and its properties; models compiled on it stay usable.
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
