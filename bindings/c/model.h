/* SPDX-License-Identifier: Apache-2.0 */
/* Models and ports. Generated from api/model.toml by generate.py. */
/* clang-format off */
#ifndef TENON_BINDINGS_C_MODEL_H
#define TENON_BINDINGS_C_MODEL_H

#include <tenon/bindings/c/base.h>
#include <tenon/bindings/c/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Models before compilation, and their ports. A port is an input or output; a model's ports also work on models
 * compiled from it.
 */

/* Everything about a port. */
typedef struct tenon_port_info {
  size_t struct_size;
  /* A tensor name, else the node's; valid as long as the queried handle. */
  const char* name;
  tenon_element_type_t type;
  int32_t rank; /* -1: unknown. */
  int64_t shape[TENON_MAX_RANK]; /* -1: unknown until a tensor is set. */
} tenon_port_info_t;

/* The model's display name. */
TENON_C_API tenon_status_t tenon_model_get_name(const tenon_model_t* model, char** out);

/* Sets the model's display name. */
TENON_C_API tenon_status_t tenon_model_set_name(tenon_model_t* model, const char* name);

/* Whether any of its shapes is unknown until tensors are set. */
TENON_C_API bool tenon_model_is_dynamic(const tenon_model_t* model);

/*
 * A value of the model's own information ("model_info", "labels"), as text.
 * path: path_length elements. Statuses: NOT_FOUND.
 */
TENON_C_API tenon_status_t tenon_model_get_info(const tenon_model_t* model, const char* const* path,
    size_t path_length, char** out);

/* Copies the nodes and shares the constants' memory. */
TENON_C_API tenon_status_t tenon_model_clone(const tenon_model_t* model, tenon_model_t** out);

/*
 * Writes OpenVINO IR, version 11. An existing file is replaced completely or stays unchanged.
 * bin_path NULL: xml_path with .bin. Statuses: NOT_FOUND, PERMISSION_DENIED.
 */
TENON_C_API tenon_status_t tenon_model_save(const tenon_model_t* model, const char* xml_path, const char* bin_path);

/* Number of inputs. */
TENON_C_API size_t tenon_model_input_count(const tenon_model_t* model);

/* Number of outputs. */
TENON_C_API size_t tenon_model_output_count(const tenon_model_t* model);

/*
 * Everything about an input. info->struct_size must be set; info->name is valid as long as the model's handle.
 * Statuses: OUT_OF_RANGE.
 */
TENON_C_API tenon_status_t tenon_model_input_info(const tenon_model_t* model, size_t index, tenon_port_info_t* info);

/*
 * Everything about an output; see tenon_model_input_info.
 * Statuses: OUT_OF_RANGE.
 */
TENON_C_API tenon_status_t tenon_model_output_info(const tenon_model_t* model, size_t index, tenon_port_info_t* info);

/* The only input. */
TENON_C_API tenon_status_t tenon_model_input(const tenon_model_t* model, tenon_port_t** out);

/*
 * An input by position.
 * Statuses: OUT_OF_RANGE.
 */
TENON_C_API tenon_status_t tenon_model_input_by_index(const tenon_model_t* model, size_t index, tenon_port_t** out);

/*
 * An input by tensor name.
 * Statuses: NOT_FOUND.
 */
TENON_C_API tenon_status_t tenon_model_input_by_name(const tenon_model_t* model, const char* name,
    tenon_port_t** out);

/* The only output. */
TENON_C_API tenon_status_t tenon_model_output(const tenon_model_t* model, tenon_port_t** out);

/*
 * An output by position.
 * Statuses: OUT_OF_RANGE.
 */
TENON_C_API tenon_status_t tenon_model_output_by_index(const tenon_model_t* model, size_t index, tenon_port_t** out);

/*
 * An output by tensor name.
 * Statuses: NOT_FOUND.
 */
TENON_C_API tenon_status_t tenon_model_output_by_name(const tenon_model_t* model, const char* name,
    tenon_port_t** out);

/* Sets the only input's shape and updates all others. On failure the model is unchanged. */
TENON_C_API tenon_status_t tenon_model_reshape(tenon_model_t* model, const tenon_partial_shape_t* shape);

/*
 * Sets shapes of inputs by tensor name. On failure the model is unchanged.
 * names: count elements. shapes: count elements. Statuses: NOT_FOUND.
 */
TENON_C_API tenon_status_t tenon_model_reshape_by_names(tenon_model_t* model, const char* const* names,
    const tenon_partial_shape_t* const* shapes, size_t count);

/*
 * Sets shapes of inputs by position. On failure the model is unchanged.
 * indexes: count elements. shapes: count elements. Statuses: OUT_OF_RANGE.
 */
TENON_C_API tenon_status_t tenon_model_reshape_by_indexes(tenon_model_t* model, const size_t* indexes,
    const tenon_partial_shape_t* const* shapes, size_t count);

/*
 * Sets shapes of inputs by port. On failure the model is unchanged.
 * ports: count elements. shapes: count elements. Statuses: NOT_FOUND.
 */
TENON_C_API tenon_status_t tenon_model_reshape_by_ports(tenon_model_t* model, const tenon_port_t* const* ports,
    const tenon_partial_shape_t* const* shapes, size_t count);

/*
 * The alphabetically first of its tensor names.
 * Statuses: NOT_FOUND.
 */
TENON_C_API tenon_status_t tenon_port_get_any_name(const tenon_port_t* port, char** out);

/* All its tensor names, sorted; may be none. */
TENON_C_API tenon_status_t tenon_port_get_names(const tenon_port_t* port, tenon_strings_t** out);

/* The display name of its node. */
TENON_C_API tenon_status_t tenon_port_get_node_name(const tenon_port_t* port, char** out);

/* Type of its elements. */
TENON_C_API tenon_element_type_t tenon_port_element_type(const tenon_port_t* port);

/* Its shape, as far as known. */
TENON_C_API tenon_status_t tenon_port_get_partial_shape(const tenon_port_t* port, tenon_partial_shape_t** out);

/* Number of extents; -1 if unknown. */
TENON_C_API int64_t tenon_port_rank(const tenon_port_t* port);

/*
 * Writes tenon_port_rank() extents.
 * out: tenon_port_rank(port) elements. Statuses: FAILED_PRECONDITION.
 */
TENON_C_API tenon_status_t tenon_port_shape(const tenon_port_t* port, size_t* out);

/* Frees the handle. */
TENON_C_API void tenon_model_free(tenon_model_t* model);

/* Frees the handle. */
TENON_C_API void tenon_port_free(tenon_port_t* port);

#ifdef __cplusplus
}
#endif

#endif
