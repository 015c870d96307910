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
 * A request holds one tensor per port and runs one inference at a time on them. While one runs, setting, getting
 * and starting return FAILED_PRECONDITION ("busy"). Names are tensor names, else node names.
 */

/* How a node was executed. */
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
  int64_t start_us; /* Relative to the start of the inference. */
  int64_t real_us; /* Wall time. */
  int64_t cpu_us; /* Host time. */
  const char* node_name; /* Name in the model. */
  const char* exec_type; /* The device's name for the kernel that ran. */
  const char* node_type; /* Operation in the model. */
} tenon_profiling_info_t;

/* Called after each start_async on the thread that ran it; `message` is "" when status is TENON_OK. */
typedef void (*tenon_callback_t)(tenon_status_t status, const char* message, void* user);

/*
 * Sets an input or output. The request keeps the tensor's memory until another is set. The tensor is used in place
 * if the device can; otherwise every inference copies it and records that, or it is refused under
 * TENON_ZERO_COPY_REQUIRE.
 * Statuses: NOT_FOUND, FAILED_PRECONDITION.
 */
TENON_C_API tenon_status_t tenon_infer_request_set_tensor(tenon_infer_request_t* request, const char* name,
    const tenon_tensor_t* tensor);

/*
 * Like tenon_infer_request_set_tensor, by port.
 * Statuses: NOT_FOUND, FAILED_PRECONDITION.
 */
TENON_C_API tenon_status_t tenon_infer_request_set_tensor_by_port(tenon_infer_request_t* request,
    const tenon_port_t* port, const tenon_tensor_t* tensor);

/*
 * Like tenon_infer_request_set_tensor, for an input by position.
 * Statuses: NOT_FOUND, OUT_OF_RANGE, FAILED_PRECONDITION.
 */
TENON_C_API tenon_status_t tenon_infer_request_set_input_tensor(tenon_infer_request_t* request, size_t index,
    const tenon_tensor_t* tensor);

/*
 * Like tenon_infer_request_set_tensor, for an output by position.
 * Statuses: NOT_FOUND, OUT_OF_RANGE, FAILED_PRECONDITION.
 */
TENON_C_API tenon_status_t tenon_infer_request_set_output_tensor(tenon_infer_request_t* request, size_t index,
    const tenon_tensor_t* tensor);

/*
 * Sets a batch as one input: one tensor per item, each with a first extent of 1.
 * tensors: count elements. Statuses: NOT_FOUND, FAILED_PRECONDITION.
 */
TENON_C_API tenon_status_t tenon_infer_request_set_tensors(tenon_infer_request_t* request, const char* name,
    const tenon_tensor_t* const* tensors, size_t count);

/*
 * Like tenon_infer_request_set_tensors, by port.
 * tensors: count elements. Statuses: NOT_FOUND, FAILED_PRECONDITION.
 */
TENON_C_API tenon_status_t tenon_infer_request_set_tensors_by_port(tenon_infer_request_t* request,
    const tenon_port_t* port, const tenon_tensor_t* const* tensors, size_t count);

/*
 * Like tenon_infer_request_set_tensors, for an input by position.
 * tensors: count elements. Statuses: NOT_FOUND, OUT_OF_RANGE, FAILED_PRECONDITION.
 */
TENON_C_API tenon_status_t tenon_infer_request_set_input_tensors(tenon_infer_request_t* request, size_t index,
    const tenon_tensor_t* const* tensors, size_t count);

/*
 * The tensor that was set, else the request's own; a view of the same memory. Outputs of unknown shape have a
 * tensor only after an inference.
 * Statuses: NOT_FOUND, FAILED_PRECONDITION.
 */
TENON_C_API tenon_status_t tenon_infer_request_get_tensor(tenon_infer_request_t* request, const char* name,
    tenon_tensor_t** out);

/*
 * Like tenon_infer_request_get_tensor, by port.
 * Statuses: NOT_FOUND, FAILED_PRECONDITION.
 */
TENON_C_API tenon_status_t tenon_infer_request_get_tensor_by_port(tenon_infer_request_t* request,
    const tenon_port_t* port, tenon_tensor_t** out);

/*
 * Like tenon_infer_request_get_tensor, for an input by position.
 * Statuses: NOT_FOUND, OUT_OF_RANGE, FAILED_PRECONDITION.
 */
TENON_C_API tenon_status_t tenon_infer_request_get_input_tensor(tenon_infer_request_t* request, size_t index,
    tenon_tensor_t** out);

/*
 * Like tenon_infer_request_get_tensor, for an output by position.
 * Statuses: NOT_FOUND, OUT_OF_RANGE, FAILED_PRECONDITION.
 */
TENON_C_API tenon_status_t tenon_infer_request_get_output_tensor(tenon_infer_request_t* request, size_t index,
    tenon_tensor_t** out);

/*
 * Sets a picture as an input. Converting its colours, size and values becomes the model's first operation, which
 * reads the frame's planes in place. The frame is kept until another frame or tensor is set. The first frame of a
 * format or size compiles that operation.
 * name NULL: the only input. Statuses: NOT_FOUND, FAILED_PRECONDITION, UNIMPLEMENTED.
 */
TENON_C_API tenon_status_t tenon_infer_request_set_frame(tenon_infer_request_t* request, const char* name,
    const tenon_frame_t* frame);

/*
 * Runs an inference in the calling thread, without calling the callback.
 * Statuses: FAILED_PRECONDITION, CANCELLED.
 */
TENON_C_API tenon_status_t tenon_infer_request_infer(tenon_infer_request_t* request);

/*
 * Starts an inference on the model's executor, or on the device's queue.
 * Statuses: FAILED_PRECONDITION.
 */
TENON_C_API tenon_status_t tenon_infer_request_start_async(tenon_infer_request_t* request);

/*
 * Waits for the inference and its callback; returns at once if none runs. Returns the status of the inference.
 * Statuses: CANCELLED.
 */
TENON_C_API tenon_status_t tenon_infer_request_wait(tenon_infer_request_t* request);

/*
 * Like tenon_infer_request_wait, with a time limit in milliseconds.
 * Statuses: DEADLINE_EXCEEDED, CANCELLED.
 */
TENON_C_API tenon_status_t tenon_infer_request_wait_for(tenon_infer_request_t* request, int64_t timeout_ms);

/*
 * Ends the running inference, if any: waiting then returns TENON_CANCELLED. It may still succeed if it was nearly
 * done.
 */
TENON_C_API tenon_status_t tenon_infer_request_cancel(tenon_infer_request_t* request);

/*
 * Sets a callback for each start_async, in which the request may be started again.
 * callback NULL: none. user NULL: passed on. Statuses: FAILED_PRECONDITION.
 */
TENON_C_API tenon_status_t tenon_infer_request_set_callback(tenon_infer_request_t* request, tenon_callback_t callback,
    void* user);

/*
 * Times of the last inference. Requires that the model was compiled with PERF_COUNT.
 * Statuses: FAILED_PRECONDITION.
 */
TENON_C_API tenon_status_t tenon_infer_request_get_profiling(const tenon_infer_request_t* request,
    tenon_profiling_t** out);

/* Number of nodes. */
TENON_C_API size_t tenon_profiling_count(const tenon_profiling_t* profiling);

/*
 * A node by position. info->struct_size must be set.
 * Statuses: OUT_OF_RANGE.
 */
TENON_C_API tenon_status_t tenon_profiling_get(const tenon_profiling_t* profiling, size_t index,
    tenon_profiling_info_t* info);

/* The model that the request belongs to. */
TENON_C_API tenon_status_t tenon_infer_request_get_compiled_model(const tenon_infer_request_t* request,
    tenon_compiled_model_t** out);

/*
 * Waits for a running inference and its callback, then frees the handle; output tensors then hold the results. To
 * end the inference early, call tenon_infer_request_cancel first. If freed in its own callback, it waits only for
 * the inference, and the callback is not called again.
 */
TENON_C_API void tenon_infer_request_free(tenon_infer_request_t* infer_request);

/* Frees the handle. */
TENON_C_API void tenon_profiling_free(tenon_profiling_t* profiling);

#ifdef __cplusplus
}
#endif

#endif
