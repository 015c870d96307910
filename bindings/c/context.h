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
 * values of OCL_CONTEXT, OCL_QUEUE, VA_DEVICE, L0_CONTEXT, MEM_HANDLE, CPU_VA and DEV_OBJECT_HANDLE are pointers,
 * OS_HANDLE an int, all others texts; for keys that stand for a number (VA_PLANE, TILE_ID, OCL_CONTEXT_DEVICE_ID)
 * a small int is understood too. FILE_DESCRIPTOR is a path, FILE_OFFSET the first byte of it that is meant. For
 * memory that is there already, the functions that name it (..._from_fd, ..._from_memory, ..._from_file) spare the
 * keys: they know those of NPUs and, but for files, of GPUs.
 */

/* OCL, VA_SHARED, ZE. */
#define TENON_KEY_CONTEXT_TYPE "CONTEXT_TYPE"
/* A cl_context. */
#define TENON_KEY_OCL_CONTEXT "OCL_CONTEXT"
/* A cl_command_queue. */
#define TENON_KEY_OCL_QUEUE "OCL_QUEUE"
/* Which device of the context, a number. */
#define TENON_KEY_OCL_CONTEXT_DEVICE_ID "OCL_CONTEXT_DEVICE_ID"
/* A number. */
#define TENON_KEY_TILE_ID "TILE_ID"
/* A VADisplay. */
#define TENON_KEY_VA_DEVICE "VA_DEVICE"
/* A ze_context_handle_t. */
#define TENON_KEY_L0_CONTEXT "L0_CONTEXT"
/* A GPU's kind of memory. */
#define TENON_KEY_SHARED_MEM_TYPE "SHARED_MEM_TYPE"
/* An NPU's kind of memory: L0_INTERNAL_BUF, SHARED_BUF, MMAPED_FILE, CPU_VA. */
#define TENON_KEY_MEM_TYPE "MEM_TYPE"
/* The memory: a pointer, or a descriptor as one. */
#define TENON_KEY_MEM_HANDLE "MEM_HANDLE"
/* INPUT, OUTPUT, BINDED. */
#define TENON_KEY_TENSOR_TYPE "TENSOR_TYPE"
/* A VASurfaceID. */
#define TENON_KEY_DEV_OBJECT_HANDLE "DEV_OBJECT_HANDLE"
/* Of a surface, a number. */
#define TENON_KEY_VA_PLANE "VA_PLANE"
/* A path. */
#define TENON_KEY_FILE_DESCRIPTOR "FILE_DESCRIPTOR"
/* The first byte of the file that is meant, as text. */
#define TENON_KEY_FILE_OFFSET "FILE_OFFSET"

/* What a remote tensor is for: some memory is faster one way only, and a file's can only be read. */
typedef int32_t tenon_tensor_use_t;
enum {
  TENON_USE_ANY = 0,
  TENON_USE_INPUT = 1,
  TENON_USE_OUTPUT = 2
};

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

/*
 * New memory of the device's own for one use; what OpenVINO's create_l0_host_tensor() gives on an NPU.
 * shape: rank elements. Statuses: UNIMPLEMENTED, UNAVAILABLE.
 */
TENON_C_API tenon_status_t tenon_remote_context_create_device_tensor(const tenon_remote_context_t* context,
    tenon_element_type_t type, size_t rank, const size_t* shape, tenon_tensor_use_t use, tenon_tensor_t** out);

/*
 * A tensor over the memory behind a descriptor, from its first byte on: a dma-buf, and what else the device
 * imports. Never copies. The descriptor stays the caller's, who may close it afterwards.
 * shape: rank elements. Statuses: UNIMPLEMENTED, UNAVAILABLE, OUT_OF_RANGE, PERMISSION_DENIED.
 */
TENON_C_API tenon_status_t tenon_remote_context_create_tensor_from_fd(const tenon_remote_context_t* context,
    tenon_element_type_t type, size_t rank, const size_t* shape, int32_t fd, tenon_tensor_use_t use,
    tenon_tensor_t** out);

/*
 * A tensor over the caller's own pages, which must stay until the tensor is gone: the device reads and writes them
 * in place. Address and size must be multiples of a page's.
 * shape: rank elements. Statuses: UNIMPLEMENTED, UNAVAILABLE.
 */
TENON_C_API tenon_status_t tenon_remote_context_create_tensor_from_memory(const tenon_remote_context_t* context,
    tenon_element_type_t type, size_t rank, const size_t* shape, void* memory, tenon_tensor_use_t use,
    tenon_tensor_t** out);

/*
 * An input over the bytes of a file from an offset on: mapped where the device imports mappings, read into its
 * memory elsewhere.
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
