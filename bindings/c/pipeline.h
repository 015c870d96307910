/* SPDX-License-Identifier: Apache-2.0 */
/* Pipelines. Generated from api/pipeline.toml by generate.py. */
/* clang-format off */
#ifndef TENON_BINDINGS_C_PIPELINE_H
#define TENON_BINDINGS_C_PIPELINE_H

#include <tenon/bindings/c/base.h>
#include <tenon/bindings/c/element.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Sources, transforms and sinks that run together, and elements of a program's own among them. */

/*
 * An element: what it is called, what it can be told, and what it does. Callbacks that do not belong to its role
 * are NULL.
 */
typedef struct tenon_element {
  size_t struct_size;
  const char* name; /* In pipelines. */
  const char* about; /* One sentence. */
  tenon_role_t role;
  /* One instance serves all streams that meet; else each has its own. */
  bool is_shared;
  /* It waits, or takes long: it gets a thread and a queue of its own. */
  bool has_thread;
  const tenon_parameter_t* parameters; /* NULL if there are none. */
  size_t parameter_count;
  void* user; /* Given to create; the state where there is no create. */
  tenon_element_create_t create; /* NULL: state is user. */
  tenon_element_destroy_t destroy; /* NULL: nothing to do. */
  tenon_source_open_t source_open; /* Of sources. */
  tenon_source_read_t read; /* Of sources. */
  tenon_element_open_t open; /* Of others; NULL: all streams are taken. */
  tenon_element_process_t process; /* Of sinks and of what works in place. */
  tenon_transform_process_t transform; /* Of transforms. */
  tenon_transform_due_t due; /* Of transforms; NULL: nothing waits. */
  tenon_transform_proceed_t proceed; /* Of transforms; with due. */
  tenon_element_end_t end; /* NULL: nothing to do. */
  tenon_sink_finish_t finish; /* Of sinks; NULL: nothing to do. */
  tenon_element_interrupt_t interrupt; /* NULL: no callback waits long. */
} tenon_element_t;

/* What one node did so far, all its streams together. Texts are valid as long as the list. */
typedef struct tenon_node_stats {
  size_t struct_size;
  const char* name;
  const char* element;
  uint64_t frames_in;
  uint64_t frames_out;
  uint64_t dropped;
  int64_t busy_ns; /* In the element's own code. */
  uint64_t queued; /* Frames that wait before it. */
  uint64_t queue_size;
  uint64_t copied; /* Bytes. */
  uint64_t converted; /* Bytes. */
  uint64_t transferred; /* Bytes. */
  uint64_t waits;
  /* From the source's reading of a frame to the end of this node's work on it, of half of the frames. */
  int64_t p50_ns;
  int64_t p90_ns; /* Of 90 frames of 100. */
  int64_t p99_ns; /* Of 99 frames of 100. */
} tenon_node_stats_t;

/* One failure. Texts are valid as long as the list. */
typedef struct tenon_failure {
  size_t struct_size;
  uint32_t stream;
  tenon_status_t status;
  const char* node; /* Where. */
  const char* message; /* Why. */
  bool was_restarted;
} tenon_failure_t;

/*
 * Adds an element to those that pipelines name, for the life of the process. Everything that `element` points to
 * is copied; callbacks and `user` must stay valid.
 * Statuses: ALREADY_EXISTS.
 */
TENON_C_API tenon_status_t tenon_element_register(const tenon_element_t* element);

/* Names of all elements. */
TENON_C_API tenon_status_t tenon_element_names(tenon_strings_t** out);

/*
 * Makes the elements of a pipeline that is written in JSON: {"nodes": [{"element": "test", "parameters":
 * {"frames": 10}}, {"element": "null"}]}.
 * Statuses: NOT_FOUND, UNAVAILABLE, FAILED_PRECONDITION.
 */
TENON_C_API tenon_status_t tenon_pipeline_create(const char* json, tenon_pipeline_t** out);

/*
 * Starts all threads, once. Sources open in theirs: what goes wrong there is a failure.
 * Statuses: FAILED_PRECONDITION.
 */
TENON_C_API tenon_status_t tenon_pipeline_start(tenon_pipeline_t* pipeline);

/* Waits until every stream has ended and every sink is finished. *out_done false: the time was over first. */
TENON_C_API tenon_status_t tenon_pipeline_wait(tenon_pipeline_t* pipeline, int64_t timeout_ms, bool* out_done);

/*
 * Sources stop reading, and what is in flight is finished; after the timeout it is dropped, and calls that wait
 * are interrupted. Returns when all threads have ended.
 */
TENON_C_API tenon_status_t tenon_pipeline_stop(tenon_pipeline_t* pipeline, int64_t timeout_ms);

/* What the nodes did so far. */
TENON_C_API tenon_status_t tenon_pipeline_get_stats(const tenon_pipeline_t* pipeline, tenon_node_stats_list_t** out);

/* What failed so far. */
TENON_C_API tenon_status_t tenon_pipeline_get_failures(const tenon_pipeline_t* pipeline, tenon_failures_t** out);

/* Number of nodes. */
TENON_C_API size_t tenon_node_stats_list_count(const tenon_node_stats_list_t* list);

/*
 * A node by position.
 * Statuses: OUT_OF_RANGE.
 */
TENON_C_API tenon_status_t tenon_node_stats_list_get(const tenon_node_stats_list_t* list, size_t index,
    tenon_node_stats_t* stats);

/* Number of failures. */
TENON_C_API size_t tenon_failures_count(const tenon_failures_t* failures);

/*
 * A failure by position.
 * Statuses: OUT_OF_RANGE.
 */
TENON_C_API tenon_status_t tenon_failures_get(const tenon_failures_t* failures, size_t index,
    tenon_failure_t* failure);

/* Stops at once what still runs, then frees the handle. */
TENON_C_API void tenon_pipeline_free(tenon_pipeline_t* pipeline);

/* Frees the handle. */
TENON_C_API void tenon_node_stats_list_free(tenon_node_stats_list_t* node_stats_list);

/* Frees the handle. */
TENON_C_API void tenon_failures_free(tenon_failures_t* failures);

#ifdef __cplusplus
}
#endif

#endif
