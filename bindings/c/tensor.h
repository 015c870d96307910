/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors. Generated from api/tensor.toml by generate.py. */
/* clang-format off */
#ifndef TENON_BINDINGS_C_TENSOR_H
#define TENON_BINDINGS_C_TENSOR_H

#include <tenon/bindings/c/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A tensor is a view of memory from any framework. The memory of a remote tensor belongs to a device's context. */

/* Highest rank of tensors created through this interface. */
#define TENON_MAX_RANK 8

/* Types of elements. */
typedef int32_t tenon_element_type_t;
enum {
  TENON_TYPE_UNDEFINED = 0,
  TENON_TYPE_BOOL = 1,
  TENON_TYPE_F64 = 2,
  TENON_TYPE_F32 = 3,
  TENON_TYPE_F16 = 4,
  TENON_TYPE_BF16 = 5,
  TENON_TYPE_I64 = 6,
  TENON_TYPE_I32 = 7,
  TENON_TYPE_I16 = 8,
  TENON_TYPE_I8 = 9,
  TENON_TYPE_I4 = 10,
  TENON_TYPE_U64 = 11,
  TENON_TYPE_U32 = 12,
  TENON_TYPE_U16 = 13,
  TENON_TYPE_U8 = 14,
  TENON_TYPE_U4 = 15,
  TENON_TYPE_U1 = 16,
  TENON_TYPE_F8E4M3 = 17,
  TENON_TYPE_F8E5M2 = 18,
  TENON_TYPE_F8E4M3FNUZ = 19,
  TENON_TYPE_F8E5M2FNUZ = 20,
  TENON_TYPE_F8E8M0 = 21,
  TENON_TYPE_F4E2M1 = 22,
  TENON_TYPE_NF4 = 23
};

/*
 * Allocates packed, 64-byte aligned host memory, not initialised.
 * shape: rank elements.
 */
TENON_C_API tenon_status_t tenon_tensor_create(tenon_element_type_t type, size_t rank, const size_t* shape,
    tenon_tensor_t** out);

/*
 * Creates a tensor over the caller's memory without taking ownership. `release` is called exactly once, also if
 * this function fails.
 * shape: rank elements. byte_strides NULL: packed. data NULL: only for a shape without elements. release NULL: not
 * called. user NULL: passed on.
 */
TENON_C_API tenon_status_t tenon_tensor_wrap(tenon_element_type_t type, size_t rank, const size_t* shape,
    const ptrdiff_t* byte_strides, void* data, tenon_release_t release, void* user, tenon_tensor_t** out);

/*
 * The region [begin, end), sharing the memory. Works for remote tensors of any device.
 * begin: tenon_tensor_rank(tensor) elements. end: tenon_tensor_rank(tensor) elements. Statuses: OUT_OF_RANGE.
 */
TENON_C_API tenon_status_t tenon_tensor_slice(const tenon_tensor_t* tensor, const size_t* begin, const size_t* end,
    tenon_tensor_t** out);

/*
 * The same memory with another shape of equally many elements.
 * shape: rank elements.
 */
TENON_C_API tenon_status_t tenon_tensor_reshaped(const tenon_tensor_t* tensor, size_t rank, const size_t* shape,
    tenon_tensor_t** out);

/*
 * Address of the first element. Does not wait for pending writes.
 * Statuses: FAILED_PRECONDITION.
 */
TENON_C_API tenon_status_t tenon_tensor_data(const tenon_tensor_t* tensor, void** out);

/* Type of the elements. */
TENON_C_API tenon_element_type_t tenon_tensor_type(const tenon_tensor_t* tensor);

/* Number of extents. */
TENON_C_API size_t tenon_tensor_rank(const tenon_tensor_t* tensor);

/*
 * Writes tenon_tensor_rank() extents.
 * out: tenon_tensor_rank(tensor) elements.
 */
TENON_C_API tenon_status_t tenon_tensor_shape(const tenon_tensor_t* tensor, size_t* out);

/*
 * Writes tenon_tensor_rank() strides, in bytes. Types below 8 bits have none.
 * out: tenon_tensor_rank(tensor) elements. Statuses: UNIMPLEMENTED.
 */
TENON_C_API tenon_status_t tenon_tensor_byte_strides(const tenon_tensor_t* tensor, ptrdiff_t* out);

/* Product of the extents. */
TENON_C_API size_t tenon_tensor_element_count(const tenon_tensor_t* tensor);

/* Size of the elements in bytes, without padding. */
TENON_C_API size_t tenon_tensor_size_bytes(const tenon_tensor_t* tensor);

/* Whether the elements are stored without gaps. */
TENON_C_API bool tenon_tensor_is_contiguous(const tenon_tensor_t* tensor);

/* Whether tenon_tensor_data() gives an address. */
TENON_C_API bool tenon_tensor_is_host_addressable(const tenon_tensor_t* tensor);

/*
 * Changes the extents in place. Memory that the tensor allocated grows if needed; other memory that is too small
 * is refused.
 * shape: rank elements. Statuses: OUT_OF_RANGE.
 */
TENON_C_API tenon_status_t tenon_tensor_set_shape(tenon_tensor_t* tensor, size_t rank, const size_t* shape);

/*
 * Copies all elements to a tensor of the same type; each may be host or remote. A destination of another shape
 * gets this one's. Returns when done.
 * Statuses: OUT_OF_RANGE, FAILED_PRECONDITION, UNIMPLEMENTED.
 */
TENON_C_API tenon_status_t tenon_tensor_copy_to(const tenon_tensor_t* tensor, tenon_tensor_t* destination);

/* A description for messages: "f32 [1,3,224,224] in cpu". */
TENON_C_API tenon_status_t tenon_tensor_to_text(const tenon_tensor_t* tensor, char** out);

/* Whether the memory belongs to a device's context. */
TENON_C_API bool tenon_tensor_is_remote(const tenon_tensor_t* tensor);

/* The device that owns the memory: "GPU.0". Host tensors are refused. */
TENON_C_API tenon_status_t tenon_remote_tensor_get_device_name(const tenon_tensor_t* tensor, char** out);

/*
 * Its handles as text, "MEM_HANDLE:0x...;SHARED_MEM_TYPE:OCL_BUFFER;", and the number of pairs. Host tensors are
 * refused.
 */
TENON_C_API tenon_status_t tenon_remote_tensor_get_params(const tenon_tensor_t* tensor, size_t* out_count,
    char** out_params);

/* Its handles by key, typed. Host tensors are refused. */
TENON_C_API tenon_status_t tenon_remote_tensor_get_properties(const tenon_tensor_t* tensor, tenon_properties_t** out);

/* Frees the handle. */
TENON_C_API void tenon_tensor_free(tenon_tensor_t* tensor);

#ifdef __cplusplus
}
#endif

#endif
