/* SPDX-License-Identifier: Apache-2.0 */
/* Remote contexts. Generated from api/context.toml by generate.py. */
/* clang-format off */
#ifndef TENON_BINDINGS_C_CONTEXT_H
#define TENON_BINDINGS_C_CONTEXT_H

#include <tenon/bindings/c/base.h>
#include <tenon/bindings/c/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A device's context, and tensors in its memory. Parameters go either as a tenon_properties_t, or as pairs of
 * arguments, key and value, as in OpenVINO's C interface: `argument_count` is twice the number of pairs; the
 * values of OCL_CONTEXT, OCL_QUEUE, VA_DEVICE, MEM_HANDLE and DEV_OBJECT_HANDLE are pointers, all others texts;
 * for keys that stand for a number (VA_PLANE, TILE_ID, OCL_CONTEXT_DEVICE_ID, FILE_DESCRIPTOR) a small int is
 * understood too.
 */

/*
 * A context over native handles of the caller, given as pairs of arguments.
 * Statuses: NOT_FOUND, UNAVAILABLE, UNIMPLEMENTED.
 */
TENON_C_API tenon_status_t tenon_core_create_context(const tenon_core_t* core, const char* device,
    size_t argument_count, tenon_remote_context_t** out, ...);

/*
 * A context over native handles of the caller.
 * params NULL: none. Statuses: NOT_FOUND, UNAVAILABLE, UNIMPLEMENTED.
 */
TENON_C_API tenon_status_t tenon_core_create_context_with(const tenon_core_t* core, const char* device,
    const tenon_properties_t* params, tenon_remote_context_t** out);

/*
 * The context that the device uses when it is not given one.
 * Statuses: NOT_FOUND, UNAVAILABLE, UNIMPLEMENTED.
 */
TENON_C_API tenon_status_t tenon_core_get_default_context(const tenon_core_t* core, const char* device,
    tenon_remote_context_t** out);

/*
 * The context that the model was compiled in.
 * Statuses: UNIMPLEMENTED.
 */
TENON_C_API tenon_status_t tenon_compiled_model_get_context(const tenon_compiled_model_t* model,
    tenon_remote_context_t** out);

/* "GPU.0". */
TENON_C_API tenon_status_t tenon_remote_context_get_device_name(const tenon_remote_context_t* context, char** out);

/* Its handles as text, "CONTEXT_TYPE OCL OCL_CONTEXT 0x... OCL_QUEUE 0x...", and how many pairs that are. */
TENON_C_API tenon_status_t tenon_remote_context_get_params(const tenon_remote_context_t* context, size_t* out_count,
    char** out_params);

/* Its handles by key, typed. */
TENON_C_API tenon_status_t tenon_remote_context_get_properties(const tenon_remote_context_t* context,
    tenon_properties_t** out);

/*
 * A tensor in the device's memory, or over a native handle given as pairs of arguments; no pairs: new memory.
 * shape: rank elements. Statuses: UNIMPLEMENTED.
 */
TENON_C_API tenon_status_t tenon_remote_context_create_tensor(const tenon_remote_context_t* context,
    tenon_element_type_t type, size_t rank, const size_t* shape, size_t argument_count, tenon_tensor_t** out, ...);

/*
 * A tensor in the device's memory, or over a native handle.
 * shape: rank elements. params NULL: new memory. Statuses: UNIMPLEMENTED.
 */
TENON_C_API tenon_status_t tenon_remote_context_create_tensor_with(const tenon_remote_context_t* context,
    tenon_element_type_t type, size_t rank, const size_t* shape, const tenon_properties_t* params,
    tenon_tensor_t** out);

/*
 * Host memory that the device reads in place where it can.
 * shape: rank elements.
 */
TENON_C_API tenon_status_t tenon_remote_context_create_host_tensor(const tenon_remote_context_t* context,
    tenon_element_type_t type, size_t rank, const size_t* shape, tenon_tensor_t** out);

/* Frees the handle. */
TENON_C_API void tenon_remote_context_free(tenon_remote_context_t* remote_context);

#ifdef __cplusplus
}
#endif

#endif
