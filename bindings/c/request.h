/* SPDX-License-Identifier: Apache-2.0 */
/* Requests. Generated from api/request.toml by generate.py. */
/* clang-format off */
#ifndef TENON_BINDINGS_C_REQUEST_H
#define TENON_BINDINGS_C_REQUEST_H

#include <tenon/bindings/c/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A request holds tensors by port and runs one inference at a time over them. While one runs, setting, getting and
 * starting give FAILED_PRECONDITION ("busy"). Names are tensor names, else node names.
 */

/* What became of a node. */
typedef int32_t tenon_profiling_status_t;
enum {
  TENON_PROFILING_NOT_RUN = 0,
  TENON_PROFILING_OPTIMIZED_OUT = 1, /* Fused into another node or removed. */
  TENON_PROFILING_EXECUTED = 2
};

/* One node of the executed graph. Texts are valid as long as the list. */
typedef struct tenon_profiling_info {
  size_t struct_size;
  tenon_profiling_status_t status;
  int64_t start_us; /* Since the start of the inference. */
  int64_t real_us; /* Wall time. */
  int64_t cpu_us; /* Host time. */
  const char* node_name; /* In the model. */
  const char* exec_type; /* Kernel that ran, as the device names it. */
  const char* node_type; /* Operation in the model. */
} tenon_profiling_info_t;

/* Called after each start_async on the thread that ran it; `message` is "" when status is TENON_OK. */
typedef void (*tenon_callback_t)(tenon_status_t status, const char* message, void* user);

/*
 * Sets an input or output. The request keeps the tensor's memory until another is set. Used where it lies when the
 * device can, else copied at every inference and booked, or refused under TENON_ZERO_COPY_REQUIRE.
 * Statuses: NOT_FOUND, FAILED_PRECONDITION.
 */
TENON_C_API tenon_status_t tenon_infer_request_set_tensor(tenon_infer_request_t* request, const char* name,
    const tenon_tensor_t* tensor);

/*
 * As tenon_infer_request_set_tensor, by port.
 * Statuses: NOT_FOUND, FAILED_PRECONDITION.
 */
TENON_C_API tenon_status_t tenon_infer_request_set_tensor_by_port(tenon_infer_request_t* request,
    const tenon_port_t* port, const tenon_tensor_t* tensor);

/*
 * As tenon_infer_request_set_tensor, an input by position.
 * Statuses: NOT_FOUND, OUT_OF_RANGE, FAILED_PRECONDITION.
 */
TENON_C_API tenon_status_t tenon_infer_request_set_input_tensor(tenon_infer_request_t* request, size_t index,
    const tenon_tensor_t* tensor);

/*
 * As tenon_infer_request_set_tensor, an output by position.
 * Statuses: NOT_FOUND, OUT_OF_RANGE, FAILED_PRECONDITION.
 */
TENON_C_API tenon_status_t tenon_infer_request_set_output_tensor(tenon_infer_request_t* request, size_t index,
    const tenon_tensor_t* tensor);

/*
 * A batch: one tensor per item, each with a first extent of 1; they count as one input.
 * tensors: count elements. Statuses: NOT_FOUND, FAILED_PRECONDITION.
 */
TENON_C_API tenon_status_t tenon_infer_request_set_tensors(tenon_infer_request_t* request, const char* name,
    const tenon_tensor_t* const* tensors, size_t count);

/*
 * As tenon_infer_request_set_tensors, by port.
 * tensors: count elements. Statuses: NOT_FOUND, FAILED_PRECONDITION.
 */
TENON_C_API tenon_status_t tenon_infer_request_set_tensors_by_port(tenon_infer_request_t* request,
    const tenon_port_t* port, const tenon_tensor_t* const* tensors, size_t count);

/*
 * As tenon_infer_request_set_tensors, an input by position.
 * tensors: count elements. Statuses: NOT_FOUND, OUT_OF_RANGE, FAILED_PRECONDITION.
 */
TENON_C_API tenon_status_t tenon_infer_request_set_input_tensors(tenon_infer_request_t* request, size_t index,
    const tenon_tensor_t* const* tensors, size_t count);

/*
 * The tensor that was set, else one of the request's own: a view of the same memory. Outputs of unknown shape have
 * theirs after an inference.
 * Statuses: NOT_FOUND, FAILED_PRECONDITION.
 */
TENON_C_API tenon_status_t tenon_infer_request_get_tensor(tenon_infer_request_t* request, const char* name,
    tenon_tensor_t** out);

/*
 * As tenon_infer_request_get_tensor, by port.
 * Statuses: NOT_FOUND, FAILED_PRECONDITION.
 */
TENON_C_API tenon_status_t tenon_infer_request_get_tensor_by_port(tenon_infer_request_t* request,
    const tenon_port_t* port, tenon_tensor_t** out);

/*
 * As tenon_infer_request_get_tensor, an input by position.
 * Statuses: NOT_FOUND, OUT_OF_RANGE, FAILED_PRECONDITION.
 */
TENON_C_API tenon_status_t tenon_infer_request_get_input_tensor(tenon_infer_request_t* request, size_t index,
    tenon_tensor_t** out);

/*
 * As tenon_infer_request_get_tensor, an output by position.
 * Statuses: NOT_FOUND, OUT_OF_RANGE, FAILED_PRECONDITION.
 */
TENON_C_API tenon_status_t tenon_infer_request_get_output_tensor(tenon_infer_request_t* request, size_t index,
    tenon_tensor_t** out);

/*
 * Feeds an input from a picture: colours, size and values become the model's first operation, which reads the
 * frame's planes where they lie. The frame is kept until another frame or tensor is set. The first frame of a
 * format or size compiles that operation.
 * name NULL: the only input. Statuses: NOT_FOUND, FAILED_PRECONDITION, UNIMPLEMENTED.
 */
TENON_C_API tenon_status_t tenon_infer_request_set_frame(tenon_infer_request_t* request, const char* name,
    const tenon_frame_t* frame);

/*
 * Runs in the calling thread; does not call the callback.
 * Statuses: FAILED_PRECONDITION, CANCELLED.
 */
TENON_C_API tenon_status_t tenon_infer_request_infer(tenon_infer_request_t* request);

/*
 * Starts on the model's executor, or on the device's queue.
 * Statuses: FAILED_PRECONDITION.
 */
TENON_C_API tenon_status_t tenon_infer_request_start_async(tenon_infer_request_t* request);

/*
 * Waits for the inference and its callback; returns at once when nothing runs. Gives the status of the inference.
 * Statuses: CANCELLED.
 */
TENON_C_API tenon_status_t tenon_infer_request_wait(tenon_infer_request_t* request);

/*
 * As tenon_infer_request_wait, for so many milliseconds at most.
 * Statuses: DEADLINE_EXCEEDED, CANCELLED.
 */
TENON_C_API tenon_status_t tenon_infer_request_wait_for(tenon_infer_request_t* request, int64_t timeout_ms);

/*
 * The running inference, if any, ends early: waiting then gives TENON_CANCELLED. It may still succeed when it was
 * nearly done.
 */
TENON_C_API tenon_status_t tenon_infer_request_cancel(tenon_infer_request_t* request);

/*
 * Called after each start_async; the request may be started again from within.
 * callback NULL: none. user NULL: passed on as it is. Statuses: FAILED_PRECONDITION.
 */
TENON_C_API tenon_status_t tenon_infer_request_set_callback(tenon_infer_request_t* request, tenon_callback_t callback,
    void* user);

/*
 * Times of the last inference, with PERF_COUNT set when the model was compiled.
 * Statuses: FAILED_PRECONDITION.
 */
TENON_C_API tenon_status_t tenon_infer_request_get_profiling(const tenon_infer_request_t* request,
    tenon_profiling_t** out);

/* Number of nodes. */
TENON_C_API size_t tenon_profiling_count(const tenon_profiling_t* profiling);

/*
 * One node. info->struct_size must be set.
 * Statuses: OUT_OF_RANGE.
 */
TENON_C_API tenon_status_t tenon_profiling_get(const tenon_profiling_t* profiling, size_t index,
    tenon_profiling_info_t* info);

/* The model that the request belongs to. */
TENON_C_API tenon_status_t tenon_infer_request_get_compiled_model(const tenon_infer_request_t* request,
    tenon_compiled_model_t** out);

/*
 * Waits for a running inference and its callback, whose outputs hold their results then, and frees the handle;
 * tenon_infer_request_cancel first ends it early. Freed from within its own callback it waits for the inference
 * alone, and is not called back any more.
 */
TENON_C_API void tenon_infer_request_free(tenon_infer_request_t* infer_request);

/* Frees the handle. */
TENON_C_API void tenon_profiling_free(tenon_profiling_t* profiling);

#ifdef __cplusplus
}
#endif

#endif
