/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts, pre- and post-processing. Generated from api/preprocess.toml by generate.py. */
/* clang-format off */
#ifndef TENON_BINDINGS_C_PREPROCESS_H
#define TENON_BINDINGS_C_PREPROCESS_H

#include <tenon/bindings/c/base.h>
#include <tenon/bindings/c/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Steps between the caller's tensors and those of a model, as nodes that become part of the model. Layouts are
 * texts: "NCHW", "N...C", "[N,C,H,W]". Steps run in the order in which they were added; tenon_preprocessor_build
 * reports those that do not fit.
 */

/* Formats of pictures in tensors. */
typedef int32_t tenon_colour_format_t;
enum {
  TENON_COLOUR_UNDEFINED = 0,
  TENON_COLOUR_NV12_SINGLE_PLANE = 1, /* One tensor [N, H * 3/2, W, 1]. */
  TENON_COLOUR_NV12_TWO_PLANES = 2, /* Luma [N, H, W, 1] and chroma [N, H/2, W/2, 2]. */
  TENON_COLOUR_I420_SINGLE_PLANE = 3, /* One tensor [N, H * 3/2, W, 1]. */
  TENON_COLOUR_I420_THREE_PLANES = 4, /* Luma [N, H, W, 1], U and V [N, H/2, W/2, 1]. */
  TENON_COLOUR_RGB = 5,
  TENON_COLOUR_BGR = 6,
  TENON_COLOUR_GRAY = 7,
  TENON_COLOUR_RGBX = 8,
  TENON_COLOUR_BGRX = 9
};

/* Algorithms that resize pictures; all align pixel centres. */
typedef int32_t tenon_resize_t;
enum {
  TENON_RESIZE_LINEAR = 0,
  TENON_RESIZE_CUBIC = 1,
  TENON_RESIZE_NEAREST = 2,
  TENON_RESIZE_BILINEAR_PILLOW = 3, /* Widens its kernel when shrinking. */
  TENON_RESIZE_BICUBIC_PILLOW = 4 /* Widens its kernel when shrinking. */
};

/* What padding puts around a picture. */
typedef int32_t tenon_pad_mode_t;
enum {
  TENON_PAD_CONSTANT = 0,
  TENON_PAD_EDGE = 1,
  TENON_PAD_REFLECT = 2,
  TENON_PAD_SYMMETRIC = 3
};

/* A layout in its full form: "[N,C,H,W]" for "nchw". */
TENON_C_API tenon_status_t tenon_layout_to_text(const char* layout, char** out);

/* The axis of a name in a layout. After an ellipsis it is negative, counted from the end. */
TENON_C_API tenon_status_t tenon_layout_axis(const char* layout, const char* name, int64_t* out);

/* The port's layout in the model; "[...]" if it has none. */
TENON_C_API tenon_status_t tenon_port_get_layout(const tenon_port_t* port, char** out);

/*
 * Sets the layout of an input or output of this model.
 * layout NULL: no layout.
 */
TENON_C_API tenon_status_t tenon_model_set_layout(tenon_model_t* model, const tenon_port_t* port, const char* layout);

/* Creates a preprocessor without steps for a copy of the model, which stays unchanged. */
TENON_C_API tenon_status_t tenon_preprocessor_create(const tenon_model_t* model, tenon_preprocessor_t** out);

/*
 * An input by tensor name.
 * name NULL: the only input. Statuses: NOT_FOUND.
 */
TENON_C_API tenon_status_t tenon_preprocessor_input(const tenon_preprocessor_t* preprocessor, const char* name,
    tenon_preprocess_input_t** out);

/*
 * An input by position.
 * Statuses: OUT_OF_RANGE, NOT_FOUND.
 */
TENON_C_API tenon_status_t tenon_preprocessor_input_by_index(const tenon_preprocessor_t* preprocessor, size_t index,
    tenon_preprocess_input_t** out);

/*
 * An output by tensor name.
 * name NULL: the only output. Statuses: NOT_FOUND.
 */
TENON_C_API tenon_status_t tenon_preprocessor_output(const tenon_preprocessor_t* preprocessor, const char* name,
    tenon_preprocess_output_t** out);

/*
 * An output by position.
 * Statuses: OUT_OF_RANGE, NOT_FOUND.
 */
TENON_C_API tenon_status_t tenon_preprocessor_output_by_index(const tenon_preprocessor_t* preprocessor, size_t index,
    tenon_preprocess_output_t** out);

/*
 * One line per step, with type, shape and layout before and after it. A step that fails ends the text with its
 * error.
 */
TENON_C_API tenon_status_t tenon_preprocessor_to_text(const tenon_preprocessor_t* preprocessor, char** out);

/*
 * Builds the model with all steps. Succeeds only once; after a failure, steps may be added and it may be called
 * again.
 */
TENON_C_API tenon_status_t tenon_preprocessor_build(tenon_preprocessor_t* preprocessor, tenon_model_t** out);

/* Element type of the tensors that the caller will set. */
TENON_C_API tenon_status_t tenon_preprocess_input_set_element_type(tenon_preprocess_input_t* input,
    tenon_element_type_t type);

/* Layout of the tensors that the caller will set. */
TENON_C_API tenon_status_t tenon_preprocess_input_set_layout(tenon_preprocess_input_t* input, const char* layout);

/* Layout of the model's own input, if the model has none. */
TENON_C_API tenon_status_t tenon_preprocess_input_set_model_layout(tenon_preprocess_input_t* input,
    const char* layout);

/*
 * Colour format of the tensors that the caller will set. With several planes, each becomes an input
 * <name>/<sub-name>.
 * sub_names: count elements.
 */
TENON_C_API tenon_status_t tenon_preprocess_input_set_colour_format(tenon_preprocess_input_t* input,
    tenon_colour_format_t format, const char* const* sub_names, size_t count);

/* Allows height and width to change from tensor to tensor; a resize step usually follows. */
TENON_C_API tenon_status_t tenon_preprocess_input_set_spatial_dynamic_shape(tenon_preprocess_input_t* input);

/* Height and width of the tensors that the caller will set, in pixels. */
TENON_C_API tenon_status_t tenon_preprocess_input_set_spatial_static_shape(tenon_preprocess_input_t* input,
    size_t height_px, size_t width_px);

/* The complete shape of the tensors that the caller will set, for steps that change it. */
TENON_C_API tenon_status_t tenon_preprocess_input_set_shape(tenon_preprocess_input_t* input,
    const tenon_partial_shape_t* shape);

/* Sets type and shape as those of a tensor. */
TENON_C_API tenon_status_t tenon_preprocess_input_set_from(tenon_preprocess_input_t* input,
    const tenon_tensor_t* tensor);

/* A hint for devices: "GPU_SURFACE". An empty text removes it. */
TENON_C_API tenon_status_t tenon_preprocess_input_set_memory_type(tenon_preprocess_input_t* input,
    const char* memory_type);

/* Step: limits values to [`min`, `max`]. */
TENON_C_API tenon_status_t tenon_preprocess_input_clamp(tenon_preprocess_input_t* input, double min, double max);

/* Step: converts to a type; TENON_TYPE_UNDEFINED: the model's. */
TENON_C_API tenon_status_t tenon_preprocess_input_convert_element_type(tenon_preprocess_input_t* input,
    tenon_element_type_t type);

/* Step: converts to another colour format. */
TENON_C_API tenon_status_t tenon_preprocess_input_convert_colour(tenon_preprocess_input_t* input,
    tenon_colour_format_t format);

/*
 * Step: converts to another layout.
 * layout NULL: the model's.
 */
TENON_C_API tenon_status_t tenon_preprocess_input_convert_layout(tenon_preprocess_input_t* input, const char* layout);

/*
 * Step: axis i of the result is axis order[i].
 * order: count elements.
 */
TENON_C_API tenon_status_t tenon_preprocess_input_permute(tenon_preprocess_input_t* input, const uint64_t* order,
    size_t count);

/*
 * Step: subtracts one value, or one per channel.
 * values: count elements.
 */
TENON_C_API tenon_status_t tenon_preprocess_input_mean(tenon_preprocess_input_t* input, const float* values,
    size_t count);

/*
 * Step: divides by one value, or one per channel.
 * values: count elements.
 */
TENON_C_API tenon_status_t tenon_preprocess_input_scale(tenon_preprocess_input_t* input, const float* values,
    size_t count);

/* Step: resizes to a size in pixels; 0 and 0: the model's. */
TENON_C_API tenon_status_t tenon_preprocess_input_resize(tenon_preprocess_input_t* input, tenon_resize_t algorithm,
    size_t height_px, size_t width_px);

/*
 * Step: keeps [begin, end) of each axis; negative positions count from the end.
 * begin: count elements. end: count elements.
 */
TENON_C_API tenon_status_t tenon_preprocess_input_crop(tenon_preprocess_input_t* input, const int32_t* begin,
    const int32_t* end, size_t count);

/*
 * Step: pads each axis with `begin` elements before and `end` after.
 * begin: count elements. end: count elements.
 */
TENON_C_API tenon_status_t tenon_preprocess_input_pad(tenon_preprocess_input_t* input, const int32_t* begin,
    const int32_t* end, size_t count, float value, tenon_pad_mode_t mode);

/* Step: swaps RGB and BGR. */
TENON_C_API tenon_status_t tenon_preprocess_input_reverse_channels(tenon_preprocess_input_t* input);

/* Element type of the tensors that the caller will get. */
TENON_C_API tenon_status_t tenon_preprocess_output_set_element_type(tenon_preprocess_output_t* output,
    tenon_element_type_t type);

/* Layout of the tensors that the caller will get. */
TENON_C_API tenon_status_t tenon_preprocess_output_set_layout(tenon_preprocess_output_t* output, const char* layout);

/* Layout of the model's own output, if the model has none. */
TENON_C_API tenon_status_t tenon_preprocess_output_set_model_layout(tenon_preprocess_output_t* output,
    const char* layout);

/*
 * Colour format of the model's output.
 * sub_names: count elements.
 */
TENON_C_API tenon_status_t tenon_preprocess_output_set_colour_format(tenon_preprocess_output_t* output,
    tenon_colour_format_t format, const char* const* sub_names, size_t count);

/* Step: limits values to [`min`, `max`]. */
TENON_C_API tenon_status_t tenon_preprocess_output_clamp(tenon_preprocess_output_t* output, double min, double max);

/* Step: converts to a type; TENON_TYPE_UNDEFINED: the tensor's. */
TENON_C_API tenon_status_t tenon_preprocess_output_convert_element_type(tenon_preprocess_output_t* output,
    tenon_element_type_t type);

/* Step: converts to another colour format. */
TENON_C_API tenon_status_t tenon_preprocess_output_convert_colour(tenon_preprocess_output_t* output,
    tenon_colour_format_t format);

/*
 * Step: converts to another layout.
 * layout NULL: the tensor's.
 */
TENON_C_API tenon_status_t tenon_preprocess_output_convert_layout(tenon_preprocess_output_t* output,
    const char* layout);

/*
 * Step: axis i of the result is axis order[i].
 * order: count elements.
 */
TENON_C_API tenon_status_t tenon_preprocess_output_permute(tenon_preprocess_output_t* output, const uint64_t* order,
    size_t count);

/* Frees the handle. */
TENON_C_API void tenon_preprocessor_free(tenon_preprocessor_t* preprocessor);

/* Frees the handle. */
TENON_C_API void tenon_preprocess_input_free(tenon_preprocess_input_t* preprocess_input);

/* Frees the handle. */
TENON_C_API void tenon_preprocess_output_free(tenon_preprocess_output_t* preprocess_output);

#ifdef __cplusplus
}
#endif

#endif
