/* SPDX-License-Identifier: Apache-2.0 */
/* Partial shapes. Generated from api/shape.toml by generate.py. */
/* clang-format off */
#ifndef TENON_BINDINGS_C_SHAPE_H
#define TENON_BINDINGS_C_SHAPE_H

#include <tenon/bindings/c/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Known shapes are passed as a rank and an array of extents, outermost first. Shapes with unknown extents or rank
 * are handles.
 */

/* An extent between two inclusive bounds; it is known if they are equal. This struct never changes. */
typedef struct tenon_dimension {
  int64_t min;
  int64_t max; /* -1: no upper bound. */
} tenon_dimension_t;

/*
 * Creates a shape from bounds.
 * dimensions: rank elements.
 */
TENON_C_API tenon_status_t tenon_partial_shape_create(size_t rank, const tenon_dimension_t* dimensions,
    tenon_partial_shape_t** out);

/*
 * Creates a shape from known extents.
 * shape: rank elements.
 */
TENON_C_API tenon_status_t tenon_partial_shape_create_static(size_t rank, const size_t* shape,
    tenon_partial_shape_t** out);

/* Creates a shape of unknown rank. */
TENON_C_API tenon_status_t tenon_partial_shape_create_dynamic(tenon_partial_shape_t** out);

/* Creates a shape from text: "[1,3,?,224..448]"; "[...]" means unknown rank. */
TENON_C_API tenon_status_t tenon_partial_shape_parse(const char* text, tenon_partial_shape_t** out);

/* Number of extents; -1 if the rank is unknown. */
TENON_C_API int64_t tenon_partial_shape_rank(const tenon_partial_shape_t* shape);

/*
 * The bounds of one extent.
 * Statuses: OUT_OF_RANGE.
 */
TENON_C_API tenon_status_t tenon_partial_shape_dimension(const tenon_partial_shape_t* shape, size_t axis,
    tenon_dimension_t* out);

/* Whether its rank or any extent is unknown. */
TENON_C_API bool tenon_partial_shape_is_dynamic(const tenon_partial_shape_t* shape);

/*
 * Writes tenon_partial_shape_rank() extents.
 * out: tenon_partial_shape_rank(shape) elements. Statuses: FAILED_PRECONDITION.
 */
TENON_C_API tenon_status_t tenon_partial_shape_to_shape(const tenon_partial_shape_t* shape, size_t* out);

/* The text that tenon_partial_shape_parse() reads. */
TENON_C_API tenon_status_t tenon_partial_shape_to_text(const tenon_partial_shape_t* shape, char** out);

/* Frees the handle. */
TENON_C_API void tenon_partial_shape_free(tenon_partial_shape_t* partial_shape);

#ifdef __cplusplus
}
#endif

#endif
