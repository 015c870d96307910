/* SPDX-License-Identifier: Apache-2.0 */
/* The C interface: models run on devices, over tensors and frames that lie where the caller has them. */
#ifndef TENON_BINDINGS_C_TENON_H
#define TENON_BINDINGS_C_TENON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_C_API __attribute__((visibility("default")))

/*
 * Rules that hold for every function:
 *  - It returns a status. On failure out-parameters are NULL or 0 and tenon_last_error_message() of this thread says
 * what was wrong; on success they are set. No exception, no signal.
 *  - Handles are opaque. Every handle that an out-parameter gave is freed with its tenon_*_free, which takes NULL too.
 * Objects keep alive what they need: handles may be freed in any order.
 *  - Structs begin with struct_size = sizeof(the struct): programs built with older or newer headers work.
 *  - Strings are UTF-8. Texts that an out-parameter `char**` gave are freed with tenon_string_free.
 *  - Functions on different handles may run at once. One request runs one inference at a time.
 */

/* Enumerations are int32_t with named constants: a value from elsewhere that has no name is an error, not undefined
 * behaviour. */

/* The canonical codes; the numbers never change. */
typedef int32_t tenon_status_t;
enum {
  TENON_OK = 0,
  TENON_CANCELLED = 1,
  TENON_UNKNOWN = 2,
  TENON_INVALID_ARGUMENT = 3,
  TENON_DEADLINE_EXCEEDED = 4,
  TENON_NOT_FOUND = 5,
  TENON_ALREADY_EXISTS = 6,
  TENON_PERMISSION_DENIED = 7,
  TENON_RESOURCE_EXHAUSTED = 8,
  TENON_FAILED_PRECONDITION = 9,
  TENON_ABORTED = 10,
  TENON_OUT_OF_RANGE = 11,
  TENON_UNIMPLEMENTED = 12,
  TENON_INTERNAL = 13,
  TENON_UNAVAILABLE = 14,
  TENON_DATA_LOSS = 15
};

/* "not found"; for a number that is no status: "unknown". Never NULL. */
TENON_C_API const char* tenon_status_name(tenon_status_t status);
/* What went wrong in this thread's last call that failed; "" when none did. Valid until this thread's next failure. */
TENON_C_API const char* tenon_last_error_message(void);
TENON_C_API const char* tenon_version(void);
TENON_C_API void tenon_string_free(char* text);

typedef struct tenon_core tenon_core_t;
typedef struct tenon_model tenon_model_t;
typedef struct tenon_compiled_model tenon_compiled_model_t;
typedef struct tenon_infer_request tenon_infer_request_t;
typedef struct tenon_tensor tenon_tensor_t;
typedef struct tenon_frame tenon_frame_t;
typedef struct tenon_strings tenon_strings_t;

/* ---- Lists of texts ---- */
TENON_C_API size_t tenon_strings_count(const tenon_strings_t* strings);
/* NULL past the end. Valid as long as the list. */
TENON_C_API const char* tenon_strings_get(const tenon_strings_t* strings, size_t index);
TENON_C_API void tenon_strings_free(tenon_strings_t* strings);

/* ---- Tensors ---- */
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
  TENON_TYPE_U1 = 16
};

#define TENON_MAX_RANK 8

/* Called once, from any thread, when nobody uses the memory any more. */
typedef void (*tenon_release_t)(void* user);

/* Allocates packed, 64-byte aligned host memory, not initialised. `shape` has `rank` extents, outermost first. */
TENON_C_API tenon_status_t tenon_tensor_create(tenon_element_type_t type, size_t rank, const size_t* shape,
                                               tenon_tensor_t** out);
/* A tensor over the caller's memory, which stays the caller's. `byte_strides` may be NULL: packed. `release` may be
 * NULL; else it is called exactly once, also when this function fails. */
TENON_C_API tenon_status_t tenon_tensor_wrap(tenon_element_type_t type, size_t rank, const size_t* shape,
                                             const ptrdiff_t* byte_strides, void* data, tenon_release_t release,
                                             void* user, tenon_tensor_t** out);
/* The region [begin, end): shares the memory. */
TENON_C_API tenon_status_t tenon_tensor_slice(const tenon_tensor_t* tensor, const size_t* begin, const size_t* end,
                                              tenon_tensor_t** out);
/* Address of the first element. TENON_FAILED_PRECONDITION for memory that the CPU can't address. */
TENON_C_API tenon_status_t tenon_tensor_data(const tenon_tensor_t* tensor, void** out);
TENON_C_API tenon_element_type_t tenon_tensor_type(const tenon_tensor_t* tensor);
TENON_C_API size_t tenon_tensor_rank(const tenon_tensor_t* tensor);
/* Writes tenon_tensor_rank() values. Strides: TENON_UNIMPLEMENTED for types below 8 bits, which have none. */
TENON_C_API tenon_status_t tenon_tensor_shape(const tenon_tensor_t* tensor, size_t* out);
TENON_C_API tenon_status_t tenon_tensor_byte_strides(const tenon_tensor_t* tensor, ptrdiff_t* out);
/* Bytes of the elements, padding not counted. */
TENON_C_API size_t tenon_tensor_size_bytes(const tenon_tensor_t* tensor);
TENON_C_API void tenon_tensor_free(tenon_tensor_t* tensor);

/* ---- Frames ---- */
#define TENON_FOURCC(a, b, c, d) \
  ((uint32_t)(uint8_t)(a) | (uint32_t)(uint8_t)(b) << 8 | (uint32_t)(uint8_t)(c) << 16 | (uint32_t)(uint8_t)(d) << 24)
/* DRM's fourccs. Note that DRM names packed RGB by little-endian words: bytes R, G, B in memory are BG24. */
#define TENON_FORMAT_GRAY8 TENON_FOURCC('R', '8', ' ', ' ')
#define TENON_FORMAT_NV12 TENON_FOURCC('N', 'V', '1', '2')
#define TENON_FORMAT_P010 TENON_FOURCC('P', '0', '1', '0')
#define TENON_FORMAT_I420 TENON_FOURCC('Y', 'U', '1', '2')
#define TENON_FORMAT_RGB24 TENON_FOURCC('B', 'G', '2', '4')
#define TENON_FORMAT_BGR24 TENON_FOURCC('R', 'G', '2', '4')
#define TENON_FORMAT_RGBA TENON_FOURCC('A', 'B', '2', '4')
#define TENON_FORMAT_BGRA TENON_FOURCC('A', 'R', '2', '4')

typedef int32_t tenon_colour_space_t;
enum {
  TENON_COLOUR_SPACE_UNKNOWN = 0, /* BT.709 from 720 rows on, else BT.601. */
  TENON_COLOUR_SPACE_BT601 = 1,
  TENON_COLOUR_SPACE_BT709 = 2,
  TENON_COLOUR_SPACE_BT2020 = 3
};
typedef int32_t tenon_colour_range_t;
enum {
  TENON_COLOUR_RANGE_UNKNOWN = 0, /* Limited for YUV, full for RGB. */
  TENON_COLOUR_RANGE_LIMITED = 1,
  TENON_COLOUR_RANGE_FULL = 2
};

typedef struct tenon_frame_info {
  size_t struct_size;
  uint32_t fourcc;
  uint64_t modifier; /* 0: linear. */
  uint32_t width_px, height_px;
  tenon_colour_space_t colour_space;
  tenon_colour_range_t colour_range;
} tenon_frame_info_t;

typedef struct tenon_plane {
  void* data;
  size_t pitch_bytes;
} tenon_plane_t;

/* Host memory for all planes, rows aligned to 64 bytes. */
TENON_C_API tenon_status_t tenon_frame_create(const tenon_frame_info_t* info, tenon_frame_t** out);
/* A frame over the caller's planes; `release` as for tenon_tensor_wrap, once for all planes. */
TENON_C_API tenon_status_t tenon_frame_wrap(const tenon_frame_info_t* info, const tenon_plane_t* planes,
                                            size_t plane_count, tenon_release_t release, void* user,
                                            tenon_frame_t** out);
TENON_C_API size_t tenon_frame_plane_count(const tenon_frame_t* frame);
/* A plane as a tensor [rows, columns] or [rows, columns, samples]. */
TENON_C_API tenon_status_t tenon_frame_plane(const tenon_frame_t* frame, size_t index, tenon_tensor_t** out);
TENON_C_API void tenon_frame_free(tenon_frame_t* frame);

/* ---- Core ---- */
typedef struct tenon_property {
  const char* key;
  const char* value; /* As text: "YES", "4", "LATENCY". */
} tenon_property_t;

typedef int32_t tenon_zero_copy_t;
enum {
  TENON_ZERO_COPY_DEFAULT = 0, /* What the core is set to: prefer, unless changed. */
  TENON_ZERO_COPY_REQUIRE = 1, /* A copy is an error that explains itself. */
  TENON_ZERO_COPY_PREFER = 2,  /* Share where possible, else copy and book it. */
  TENON_ZERO_COPY_ALLOW = 3    /* The cheapest way, whatever it does. */
};

typedef struct tenon_compile_options {
  size_t struct_size;
  const tenon_property_t* properties;
  size_t property_count;
  tenon_zero_copy_t zero_copy;
  /* When not NULL, the first input takes frames of this kind, compiled now instead of at the first frame. */
  const tenon_frame_info_t* frames;
} tenon_compile_options_t;

TENON_C_API tenon_status_t tenon_core_create(tenon_core_t** out);
TENON_C_API void tenon_core_free(tenon_core_t* core);
TENON_C_API tenon_status_t tenon_core_get_available_devices(const tenon_core_t* core, tenon_strings_t** out);
/* `device` NULL: the core's own properties. */
TENON_C_API tenon_status_t tenon_core_get_property(const tenon_core_t* core, const char* device, const char* key,
                                                   char** out);
TENON_C_API tenon_status_t tenon_core_set_properties(tenon_core_t* core, const char* device,
                                                     const tenon_property_t* properties, size_t count);
/* An ONNX file, or the .xml of an IR; `weights_path` may be NULL. */
TENON_C_API tenon_status_t tenon_core_read_model(const tenon_core_t* core, const char* model_path,
                                                 const char* weights_path, tenon_model_t** out);
/* The bytes of an ONNX file (weights NULL), or the XML of an IR with its weights. */
TENON_C_API tenon_status_t tenon_core_read_model_from_memory(const tenon_core_t* core, const void* model,
                                                             size_t model_size, const tenon_tensor_t* weights,
                                                             tenon_model_t** out);
/* `device` NULL or "AUTO": the first that runs the whole model. `options` may be NULL. */
TENON_C_API tenon_status_t tenon_core_compile_model(tenon_core_t* core, const tenon_model_t* model, const char* device,
                                                    const tenon_compile_options_t* options,
                                                    tenon_compiled_model_t** out);
/* What all models of this core copied, converted, transferred and waited for, as text for people. */
TENON_C_API tenon_status_t tenon_core_report(const tenon_core_t* core, char** out);

/* ---- Models ---- */
typedef struct tenon_port_info {
  size_t struct_size;
  const char* name; /* A tensor name, else the node's; valid as long as the model's handle. */
  tenon_element_type_t type;
  int32_t rank;                  /* -1: not known. */
  int64_t shape[TENON_MAX_RANK]; /* -1: not known before a tensor is set. */
} tenon_port_info_t;

TENON_C_API size_t tenon_model_input_count(const tenon_model_t* model);
TENON_C_API size_t tenon_model_output_count(const tenon_model_t* model);
/* info->struct_size must be set. */
TENON_C_API tenon_status_t tenon_model_input_info(const tenon_model_t* model, size_t index, tenon_port_info_t* info);
TENON_C_API tenon_status_t tenon_model_output_info(const tenon_model_t* model, size_t index, tenon_port_info_t* info);
TENON_C_API void tenon_model_free(tenon_model_t* model);

TENON_C_API size_t tenon_compiled_model_input_count(const tenon_compiled_model_t* model);
TENON_C_API size_t tenon_compiled_model_output_count(const tenon_compiled_model_t* model);
TENON_C_API tenon_status_t tenon_compiled_model_input_info(const tenon_compiled_model_t* model, size_t index,
                                                           tenon_port_info_t* info);
TENON_C_API tenon_status_t tenon_compiled_model_output_info(const tenon_compiled_model_t* model, size_t index,
                                                            tenon_port_info_t* info);
TENON_C_API tenon_status_t tenon_compiled_model_get_property(const tenon_compiled_model_t* model, const char* key,
                                                             char** out);
TENON_C_API tenon_status_t tenon_compiled_model_create_infer_request(tenon_compiled_model_t* model,
                                                                     tenon_infer_request_t** out);
TENON_C_API void tenon_compiled_model_free(tenon_compiled_model_t* model);

/* ---- Requests ---- */
typedef struct tenon_ledger_totals {
  size_t struct_size;
  uint64_t maps;
  uint64_t copied_bytes;
  uint64_t converted_bytes;
  uint64_t transferred_bytes;
  uint64_t waits;
  uint64_t wait_ns;
} tenon_ledger_totals_t;

/* Called after each start_async on the thread that ran it; `message` is "" when status is TENON_OK. */
typedef void (*tenon_callback_t)(tenon_status_t status, const char* message, void* user);

/* The request keeps the tensor's memory until another is set. Names are tensor names, else node names. */
TENON_C_API tenon_status_t tenon_infer_request_set_tensor(tenon_infer_request_t* request, const char* name,
                                                          const tenon_tensor_t* tensor);
TENON_C_API tenon_status_t tenon_infer_request_set_input_tensor(tenon_infer_request_t* request, size_t index,
                                                                const tenon_tensor_t* tensor);
TENON_C_API tenon_status_t tenon_infer_request_set_output_tensor(tenon_infer_request_t* request, size_t index,
                                                                 const tenon_tensor_t* tensor);
TENON_C_API tenon_status_t tenon_infer_request_get_tensor(tenon_infer_request_t* request, const char* name,
                                                          tenon_tensor_t** out);
TENON_C_API tenon_status_t tenon_infer_request_get_input_tensor(tenon_infer_request_t* request, size_t index,
                                                                tenon_tensor_t** out);
TENON_C_API tenon_status_t tenon_infer_request_get_output_tensor(tenon_infer_request_t* request, size_t index,
                                                                 tenon_tensor_t** out);
/* `name` NULL: the only input. The frame's planes are read where they lie; it is kept until another frame or tensor is
 * set. */
TENON_C_API tenon_status_t tenon_infer_request_set_frame(tenon_infer_request_t* request, const char* name,
                                                         const tenon_frame_t* frame);
TENON_C_API tenon_status_t tenon_infer_request_infer(tenon_infer_request_t* request);
TENON_C_API tenon_status_t tenon_infer_request_start_async(tenon_infer_request_t* request);
TENON_C_API tenon_status_t tenon_infer_request_wait(tenon_infer_request_t* request);
/* TENON_DEADLINE_EXCEEDED when it still runs after `timeout_ms`. */
TENON_C_API tenon_status_t tenon_infer_request_wait_for(tenon_infer_request_t* request, int64_t timeout_ms);
TENON_C_API tenon_status_t tenon_infer_request_cancel(tenon_infer_request_t* request);
/* `callback` NULL: none. */
TENON_C_API tenon_status_t tenon_infer_request_set_callback(tenon_infer_request_t* request, tenon_callback_t callback,
                                                            void* user);
/* What this request copied, converted, transferred and waited for. totals->struct_size must be set. */
TENON_C_API tenon_status_t tenon_infer_request_ledger(const tenon_infer_request_t* request,
                                                      tenon_ledger_totals_t* totals);
/* Cancels a running inference and waits for it. */
TENON_C_API void tenon_infer_request_free(tenon_infer_request_t* request);

#ifdef __cplusplus
}
#endif

#endif
