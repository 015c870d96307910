/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled models. Generated from api/compiled_model.toml by generate.py. */
/* clang-format off */
#ifndef TENON_BINDINGS_C_COMPILED_MODEL_H
#define TENON_BINDINGS_C_COMPILED_MODEL_H

#include <tenon/bindings/c/base.h>
#include <tenon/bindings/c/frame.h>
#include <tenon/bindings/c/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A model compiled for a device. It lives as long as any handle to it or any of its requests. */

/* The most kinds of memory, and the most modifiers, that tenon_requirements_t names. */
#define TENON_MAX_ALTERNATIVES 8

/*
 * What memory must be like that a consumer reads in place. Sizes and alignments in bytes; alignments are powers of
 * two.
 */
typedef struct tenon_requirements {
  size_t struct_size;
  size_t size_bytes; /* At least; 0: what is stored says it. */
  size_t alignment; /* Of the first byte. */
  size_t pitch_alignment; /* Of each row of each plane. */
  size_t height_alignment; /* Rows per plane are rounded up to this. */
  size_t tail_padding; /* Readable bytes past the end. */
  size_t max_pitch; /* Longest row that the consumer can express; SIZE_MAX: any. */
  /*
   * Weakest descriptor that serves: "" none, "memfd" one that can be mapped, "dma-buf". Valid as long as the
   * model's handle.
   */
  const char* fd;
  bool host_access; /* The CPU writes it in place. */
  bool contiguous; /* No padding between rows or planes. */
  size_t kind_count; /* 0: any kind of memory. */
  /* Acceptable kinds; the first of them where there are more. Valid as fd. */
  const char* kinds[TENON_MAX_ALTERNATIVES];
  size_t modifier_count; /* 0: linear. */
  /* Acceptable DRM modifiers; the first of them where there are more. */
  uint64_t modifiers[TENON_MAX_ALTERNATIVES];
} tenon_requirements_t;

/* Number of inputs. */
TENON_C_API size_t tenon_compiled_model_input_count(const tenon_compiled_model_t* model);

/* Number of outputs. */
TENON_C_API size_t tenon_compiled_model_output_count(const tenon_compiled_model_t* model);

/*
 * Everything about an input. info->struct_size must be set; info->name is valid as long as the handle.
 * Statuses: OUT_OF_RANGE.
 */
TENON_C_API tenon_status_t tenon_compiled_model_input_info(const tenon_compiled_model_t* model, size_t index,
    tenon_port_info_t* info);

/*
 * Everything about an output; see tenon_compiled_model_input_info.
 * Statuses: OUT_OF_RANGE.
 */
TENON_C_API tenon_status_t tenon_compiled_model_output_info(const tenon_compiled_model_t* model, size_t index,
    tenon_port_info_t* info);

/*
 * The only input.
 * Statuses: NOT_FOUND.
 */
TENON_C_API tenon_status_t tenon_compiled_model_input(const tenon_compiled_model_t* model, tenon_port_t** out);

/*
 * An input by position.
 * Statuses: NOT_FOUND, OUT_OF_RANGE.
 */
TENON_C_API tenon_status_t tenon_compiled_model_input_by_index(const tenon_compiled_model_t* model, size_t index,
    tenon_port_t** out);

/*
 * An input by tensor name.
 * Statuses: NOT_FOUND.
 */
TENON_C_API tenon_status_t tenon_compiled_model_input_by_name(const tenon_compiled_model_t* model, const char* name,
    tenon_port_t** out);

/*
 * The only output.
 * Statuses: NOT_FOUND.
 */
TENON_C_API tenon_status_t tenon_compiled_model_output(const tenon_compiled_model_t* model, tenon_port_t** out);

/*
 * An output by position.
 * Statuses: NOT_FOUND, OUT_OF_RANGE.
 */
TENON_C_API tenon_status_t tenon_compiled_model_output_by_index(const tenon_compiled_model_t* model, size_t index,
    tenon_port_t** out);

/*
 * An output by tensor name.
 * Statuses: NOT_FOUND.
 */
TENON_C_API tenon_status_t tenon_compiled_model_output_by_name(const tenon_compiled_model_t* model, const char* name,
    tenon_port_t** out);

/*
 * A property as text.
 * Statuses: NOT_FOUND.
 */
TENON_C_API tenon_status_t tenon_compiled_model_get_property(const tenon_compiled_model_t* model, const char* key,
    char** out);

/*
 * A property, typed.
 * Statuses: NOT_FOUND.
 */
TENON_C_API tenon_status_t tenon_compiled_model_get_value(const tenon_compiled_model_t* model, const char* key,
    tenon_value_t** out);

/*
 * Changes properties that can be changed after compilation; all or none.
 * Statuses: NOT_FOUND, UNIMPLEMENTED.
 */
TENON_C_API tenon_status_t tenon_compiled_model_set_properties(tenon_compiled_model_t* model,
    const tenon_properties_t* properties);

/* Creates a request. */
TENON_C_API tenon_status_t tenon_compiled_model_create_infer_request(tenon_compiled_model_t* model,
    tenon_infer_request_t** out);

/*
 * The model that the device runs, after its optimisations. The CPU's has a layer for each step; tenon_model_save
 * writes their kernels, layouts, types and bytes. Where shapes move, those of the inference that ended last.
 * Statuses: UNIMPLEMENTED, FAILED_PRECONDITION.
 */
TENON_C_API tenon_status_t tenon_compiled_model_get_runtime_model(const tenon_compiled_model_t* model,
    tenon_model_t** out);

/*
 * Writes the compiled model to a file, completely or not at all; tenon_core_import_file reads it.
 * Statuses: UNIMPLEMENTED, NOT_FOUND, PERMISSION_DENIED.
 */
TENON_C_API tenon_status_t tenon_compiled_model_export_file(const tenon_compiled_model_t* model, const char* path);

/*
 * The compiled model as a tensor of bytes (u8 [n]); tenon_core_import_memory reads it.
 * Statuses: UNIMPLEMENTED.
 */
TENON_C_API tenon_status_t tenon_compiled_model_export_memory(const tenon_compiled_model_t* model,
    tenon_tensor_t** out);

/*
 * How a picture described by `info` is placed in an input, for mapping results back to the picture.
 * geometry->struct_size must be set.
 * input NULL: the first. Statuses: NOT_FOUND, UNIMPLEMENTED.
 */
TENON_C_API tenon_status_t tenon_compiled_model_frame_geometry(const tenon_compiled_model_t* model,
    const tenon_frame_info_t* info, const char* input, tenon_frame_geometry_t* geometry);

/*
 * What memory must be like that the CPU fills and the device reads in place: for a decoder's pool.
 * requirements->struct_size must be set.
 */
TENON_C_API tenon_status_t tenon_compiled_model_requirements(const tenon_compiled_model_t* model,
    tenon_requirements_t* requirements);

/*
 * Frees memory that is not needed between inferences; the next inference takes longer.
 * Statuses: FAILED_PRECONDITION.
 */
TENON_C_API tenon_status_t tenon_compiled_model_release_memory(tenon_compiled_model_t* model);

/* Frees the handle. */
TENON_C_API void tenon_compiled_model_free(tenon_compiled_model_t* compiled_model);

#ifdef __cplusplus
}
#endif

#endif
