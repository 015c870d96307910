/* SPDX-License-Identifier: Apache-2.0 */
/* Elements. Generated from api/element.toml by generate.py. */
/* clang-format off */
#ifndef TENON_BINDINGS_C_ELEMENT_H
#define TENON_BINDINGS_C_ELEMENT_H

#include <tenon/bindings/c/base.h>
#include <tenon/bindings/c/frame.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * What a source, transform or sink written in C is given, and what it is made of. Callbacks of one element are
 * called one at a time, on any thread. A callback that fails returns a status, after
 * tenon_set_last_error_message() with the reason: it ends the stream, or the pipeline, as the pipeline says.
 * `state` is what the create callback gave.
 */

/* What an element is. */
typedef int32_t tenon_role_t;
enum {
  TENON_ROLE_SOURCE = 0, /* Makes frames: source_open, read. */
  TENON_ROLE_TRANSFORM = 1, /* From frames to frames, others, more, fewer, later: transform. */
  TENON_ROLE_TRANSFORM_INPLACE = 2, /* Adds to frames, one for one: process. */
  TENON_ROLE_SINK = 3 /* Takes frames: process. */
};

/* The type of a parameter's value. */
typedef int32_t tenon_parameter_type_t;
enum {
  TENON_PARAMETER_BOOL = 0, /* "true" or "false". */
  TENON_PARAMETER_INT = 1,
  TENON_PARAMETER_DOUBLE = 2,
  TENON_PARAMETER_TEXT = 3
};

/* A parameter of an element. This struct never changes. */
typedef struct tenon_parameter {
  const char* name;
  const char* about; /* For people: what it does, with its unit. */
  tenon_parameter_type_t type;
  const char* default_value; /* As text; NULL: the user must give one. */
  const double* least; /* Of numbers, inclusive; NULL: no bound. */
  const double* most; /* As least. */
  const char* choices; /* Of texts, separated by commas; NULL: any. */
} tenon_parameter_t;

/* What comes out of a source or a transform. */
typedef struct tenon_stream_info {
  size_t struct_size;
  uint32_t fourcc; /* 0: not known before the first frame. */
  uint64_t modifier; /* 0: linear. */
  uint32_t width_px;
  uint32_t height_px;
  tenon_colour_space_t colour_space;
  tenon_colour_range_t colour_range;
  tenon_rotation_t rotation;
  double frames_per_second; /* 0: not known. */
  bool is_live; /* The source does not wait for whoever is slow. */
  /* How long a frame may wait for others, in all elements before together. */
  int64_t delay_ns;
} tenon_stream_info_t;

/* Makes an element: *out_state is given to all other callbacks. `name` is the element's in its pipeline. */
typedef tenon_status_t (*tenon_element_create_t)(const tenon_parameters_t* parameters, const char* name, void* user,
    void** out_state);

/* The element's end; called once for each that was created. */
typedef void (*tenon_element_destroy_t)(void* state);

/* Opens the source, again after it has ended or failed, and says in `info` what comes out. */
typedef tenon_status_t (*tenon_source_open_t)(void* state, int64_t timeout_ms, tenon_stream_info_t* info);

/*
 * The next frame in *out, which the caller takes over; NULL at the end of the stream. DEADLINE_EXCEEDED: nothing
 * came in time, and it may be called again.
 */
typedef tenon_status_t (*tenon_source_read_t)(void* state, int64_t timeout_ms, tenon_frame_t** out);

/* Once for each stream, before its first frame. `out` is as `in`; a transform changes it to what comes out. */
typedef tenon_status_t (*tenon_element_open_t)(void* state, uint32_t stream, const tenon_stream_info_t* in,
    tenon_stream_info_t* out);

/*
 * A frame for an element that works in place, or for a sink. The frame is the caller's: tenon_frame_share() keeps
 * it.
 */
typedef tenon_status_t (*tenon_element_process_t)(void* state, uint32_t stream, tenon_frame_t* frame);

/*
 * A frame for a transform, which emits results by tenon_output_emit(), now or in a later call. The frame is the
 * caller's: tenon_frame_share() keeps it.
 */
typedef tenon_status_t (*tenon_transform_process_t)(void* state, uint32_t stream, const tenon_frame_t* frame,
    tenon_output_t* output);

/*
 * In how many milliseconds work that waits for more input is to go on without it; 0: before the next frame;
 * negative: never.
 */
typedef int64_t (*tenon_transform_due_t)(void* state);

/* That time has come. */
typedef tenon_status_t (*tenon_transform_proceed_t)(void* state, tenon_output_t* output);

/* The stream has ended, failed or starts anew: a transform emits what is left. `output` is NULL for others. */
typedef tenon_status_t (*tenon_element_end_t)(void* state, uint32_t stream, tenon_output_t* output);

/* All streams of a sink have ended: files are completed. */
typedef tenon_status_t (*tenon_sink_finish_t)(void* state);

/*
 * Makes callbacks that wait end soon, also later ones: nothing is opened again. Called from any thread, during any
 * other callback.
 */
typedef void (*tenon_element_interrupt_t)(void* state);

/*
 * A value by name.
 * Statuses: NOT_FOUND.
 */
TENON_C_API tenon_status_t tenon_parameters_get_bool(const tenon_parameters_t* parameters, const char* name,
    bool* out);

/*
 * A value by name.
 * Statuses: NOT_FOUND.
 */
TENON_C_API tenon_status_t tenon_parameters_get_int64(const tenon_parameters_t* parameters, const char* name,
    int64_t* out);

/*
 * A value by name.
 * Statuses: NOT_FOUND.
 */
TENON_C_API tenon_status_t tenon_parameters_get_double(const tenon_parameters_t* parameters, const char* name,
    double* out);

/*
 * A value by name, valid within the create callback.
 * Statuses: NOT_FOUND.
 */
TENON_C_API tenon_status_t tenon_parameters_get_text(const tenon_parameters_t* parameters, const char* name,
    const char** out);

/*
 * Sends a frame on, which stays the caller's. Results of a stream are emitted in the order of its frames. May wait
 * for room in a queue.
 */
TENON_C_API tenon_status_t tenon_output_emit(tenon_output_t* output, uint32_t stream, const tenon_frame_t* frame);

#ifdef __cplusplus
}
#endif

#endif
