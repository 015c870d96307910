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
 * A device's context, and tensors in its memory. Parameters are passed as a tenon_properties_t, or as pairs of
 * arguments, key and value, as in OpenVINO's C interface: `argument_count` is twice the number of pairs; the
 * values of OCL_CONTEXT, OCL_QUEUE, VA_DEVICE, L0_CONTEXT, MEM_HANDLE, CPU_VA and DEV_OBJECT_HANDLE are pointers,
 * OS_HANDLE is an int, all others are texts; numeric keys (VA_PLANE, TILE_ID, OCL_CONTEXT_DEVICE_ID) also accept a
 * small int. FILE_DESCRIPTOR is a path, FILE_OFFSET an offset in bytes. For existing memory, the functions
 * ..._from_fd, ..._from_memory and ..._from_file need no keys: they know those of NPUs and GPUs (of OpenVINO's GPU
 * plugin not those of files).
 */

/* OCL, VA_SHARED, ZE. */
#define TENON_KEY_CONTEXT_TYPE "CONTEXT_TYPE"
/* A cl_context. */
#define TENON_KEY_OCL_CONTEXT "OCL_CONTEXT"
/* A cl_command_queue. */
#define TENON_KEY_OCL_QUEUE "OCL_QUEUE"
/* Index of a device in the context, a number. */
#define TENON_KEY_OCL_CONTEXT_DEVICE_ID "OCL_CONTEXT_DEVICE_ID"
/* A number. */
#define TENON_KEY_TILE_ID "TILE_ID"
/* A VADisplay. */
#define TENON_KEY_VA_DEVICE "VA_DEVICE"
/* A ze_context_handle_t. */
#define TENON_KEY_L0_CONTEXT "L0_CONTEXT"
/* Memory type on a GPU. */
#define TENON_KEY_SHARED_MEM_TYPE "SHARED_MEM_TYPE"
/* Memory type on an NPU: L0_INTERNAL_BUF, SHARED_BUF, MMAPED_FILE, CPU_VA. */
#define TENON_KEY_MEM_TYPE "MEM_TYPE"
/* The memory: a pointer, or a descriptor cast to one. */
#define TENON_KEY_MEM_HANDLE "MEM_HANDLE"
/* INPUT, OUTPUT, BINDED. */
#define TENON_KEY_TENSOR_TYPE "TENSOR_TYPE"
/* A VASurfaceID. */
#define TENON_KEY_DEV_OBJECT_HANDLE "DEV_OBJECT_HANDLE"
/* Plane of a surface, a number. */
#define TENON_KEY_VA_PLANE "VA_PLANE"
/* A path. */
#define TENON_KEY_FILE_DESCRIPTOR "FILE_DESCRIPTOR"
/* Offset in the file in bytes, as text. */
#define TENON_KEY_FILE_OFFSET "FILE_OFFSET"

/* The use of a remote tensor: some memory is fast in one direction only, and a file's can only be read. */
typedef int32_t tenon_tensor_use_t;
enum {
  TENON_USE_ANY = 0,
  TENON_USE_INPUT = 1,
  TENON_USE_OUTPUT = 2
};

/*
 * Creates a context from the caller's native handles, given as pairs of arguments.
 * Statuses: NOT_FOUND, UNAVAILABLE, UNIMPLEMENTED.
 */
TENON_C_API tenon_status_t tenon_core_create_context(const tenon_core_t* core, const char* device,
    size_t argument_count, tenon_remote_context_t** out, ...);

/*
 * Creates a context from the caller's native handles.
 * params NULL: none. Statuses: NOT_FOUND, UNAVAILABLE, UNIMPLEMENTED.
 */
TENON_C_API tenon_status_t tenon_core_create_context_with(const tenon_core_t* core, const char* device,
    const tenon_properties_t* params, tenon_remote_context_t** out);

/*
 * The context that the device uses by default.
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

/* The device's name, e.g. "GPU.0". */
TENON_C_API tenon_status_t tenon_remote_context_get_device_name(const tenon_remote_context_t* context, char** out);

/* Its handles as text, "CONTEXT_TYPE OCL OCL_CONTEXT 0x... OCL_QUEUE 0x...", and the number of pairs. */
TENON_C_API tenon_status_t tenon_remote_context_get_params(const tenon_remote_context_t* context, size_t* out_count,
    char** out_params);

/* Its handles by key, typed. */
TENON_C_API tenon_status_t tenon_remote_context_get_properties(const tenon_remote_context_t* context,
    tenon_properties_t** out);

/*
 * Creates a tensor in new device memory (no pairs), or over a native handle given as pairs of arguments.
 * shape: rank elements. Statuses: UNIMPLEMENTED.
 */
TENON_C_API tenon_status_t tenon_remote_context_create_tensor(const tenon_remote_context_t* context,
    tenon_element_type_t type, size_t rank, const size_t* shape, size_t argument_count, tenon_tensor_t** out, ...);

/*
 * Creates a tensor in new device memory, or over a native handle.
 * shape: rank elements. params NULL: new memory. Statuses: UNIMPLEMENTED.
 */
TENON_C_API tenon_status_t tenon_remote_context_create_tensor_with(const tenon_remote_context_t* context,
    tenon_element_type_t type, size_t rank, const size_t* shape, const tenon_properties_t* params,
    tenon_tensor_t** out);

/*
 * Creates a tensor in host memory, which the device reads in place if it can.
 * shape: rank elements.
 */
TENON_C_API tenon_status_t tenon_remote_context_create_host_tensor(const tenon_remote_context_t* context,
    tenon_element_type_t type, size_t rank, const size_t* shape, tenon_tensor_t** out);

/*
 * Creates a tensor in new device memory for one use; like OpenVINO's create_l0_host_tensor() on an NPU.
 * shape: rank elements. Statuses: UNIMPLEMENTED, UNAVAILABLE.
 */
TENON_C_API tenon_status_t tenon_remote_context_create_device_tensor(const tenon_remote_context_t* context,
    tenon_element_type_t type, size_t rank, const size_t* shape, tenon_tensor_use_t use, tenon_tensor_t** out);

/*
 * Creates a tensor over the memory behind a descriptor, from its first byte on: a dma-buf, or another type that
 * the device imports. Never copies. The descriptor stays the caller's and may be closed afterwards.
 * shape: rank elements. Statuses: UNIMPLEMENTED, UNAVAILABLE, OUT_OF_RANGE, PERMISSION_DENIED.
 */
TENON_C_API tenon_status_t tenon_remote_context_create_tensor_from_fd(const tenon_remote_context_t* context,
    tenon_element_type_t type, size_t rank, const size_t* shape, int32_t fd, tenon_tensor_use_t use,
    tenon_tensor_t** out);

/*
 * Creates a tensor over the caller's own pages, which the device reads and writes in place. They must outlive the
 * tensor. Address and size must be multiples of the page size.
 * shape: rank elements. Statuses: UNIMPLEMENTED, UNAVAILABLE.
 */
TENON_C_API tenon_status_t tenon_remote_context_create_tensor_from_memory(const tenon_remote_context_t* context,
    tenon_element_type_t type, size_t rank, const size_t* shape, void* memory, tenon_tensor_use_t use,
    tenon_tensor_t** out);

/*
 * Creates an input tensor over a file's bytes from an offset on: mapped if the device imports mappings, otherwise
 * read into its memory.
 * shape: rank elements. Statuses: UNIMPLEMENTED, UNAVAILABLE, NOT_FOUND, OUT_OF_RANGE, PERMISSION_DENIED.
 */
TENON_C_API tenon_status_t tenon_remote_context_create_tensor_from_file(const tenon_remote_context_t* context,
    tenon_element_type_t type, size_t rank, const size_t* shape, const char* path, uint64_t offset_bytes,
    tenon_tensor_t** out);

/* Frees the handle. */
TENON_C_API void tenon_remote_context_free(tenon_remote_context_t* remote_context);

#ifdef __cplusplus
}
#endif

#endif
