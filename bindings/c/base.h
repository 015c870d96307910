/* SPDX-License-Identifier: Apache-2.0 */
/* Statuses, texts and lists. Generated from api/base.toml by generate.py. */
/* clang-format off */
#ifndef TENON_BINDINGS_C_BASE_H
#define TENON_BINDINGS_C_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Rules for every function:
 * - It returns a status. On success out-parameters are set; on failure they are NULL or 0, and
 *   tenon_last_error_message() in this thread gives the reason. It throws no exception and raises no signal.
 * - Handles are opaque. Free every handle from an out-parameter with its tenon_*_free, which accepts NULL. Objects
 *   keep alive what they need, so handles may be freed in any order. A pointer that is not a handle of the type is
 *   refused if its memory is readable.
 * - Structs begin with struct_size = sizeof(the struct), so that programs built with older or newer headers work.
 * - Strings are UTF-8. Free strings from an out-parameter char** with tenon_string_free.
 * - Functions on different handles may run concurrently. A request runs one inference at a time. Each function
 *   states its further thread rules.
 * - Enumerations are int32_t with named constants: an unnamed value is an error, not undefined behaviour.
 */

#define TENON_C_API __attribute__((visibility("default")))

/* The basis of all other parts. */

/* Handles of all groups. */
/* A list of texts. */
typedef struct tenon_strings tenon_strings_t;
/* A map from key to value, ordered by key. */
typedef struct tenon_properties tenon_properties_t;
/* One value of a property. */
typedef struct tenon_value tenon_value_t;
/* An immutable shape whose extents or rank may be unknown. */
typedef struct tenon_partial_shape tenon_partial_shape_t;
/* A view of memory. The memory lives as long as any tensor over it. */
typedef struct tenon_tensor tenon_tensor_t;
/* A picture. Its memory lives as long as the frame or a tensor of one of its planes. */
typedef struct tenon_frame tenon_frame_t;
/* A model. Concurrent reading is safe; concurrent changes (reshape) are not. */
typedef struct tenon_model tenon_model_t;
/* An input or output of a model or compiled model; keeps alive what it needs. */
typedef struct tenon_port tenon_port_t;
/* A device's context. Its tensors keep it alive. */
typedef struct tenon_remote_context tenon_remote_context_t;
/* A snapshot of a ledger's entries. */
typedef struct tenon_ledger_entries tenon_ledger_entries_t;
/* The states of a request. */
typedef struct tenon_variable_states tenon_variable_states_t;
/* One state; keeps its request alive. */
typedef struct tenon_variable_state tenon_variable_state_t;
/* A request. */
typedef struct tenon_infer_request tenon_infer_request_t;
/* Times of the last inference, node by node, in order of execution. */
typedef struct tenon_profiling tenon_profiling_t;
/* A model compiled for a device. */
typedef struct tenon_compiled_model tenon_compiled_model_t;
/* The starting point: devices and their properties. Usually one per program. */
typedef struct tenon_core tenon_core_t;
/* Versions of devices. */
typedef struct tenon_device_versions tenon_device_versions_t;
/* Steps for the inputs and outputs of a copy of a model. */
typedef struct tenon_preprocessor tenon_preprocessor_t;
/* Steps of one input; keeps its preprocessor alive. */
typedef struct tenon_preprocess_input tenon_preprocess_input_t;
/* Steps of one output; keeps its preprocessor alive. */
typedef struct tenon_preprocess_output tenon_preprocess_output_t;
/* What a user gave to an element, else defaults; checked. Valid within the create callback. */
typedef struct tenon_parameters tenon_parameters_t;
/* Where a transform's results go. Valid within the callback that got it. */
typedef struct tenon_output tenon_output_t;
/* A pipeline. */
typedef struct tenon_pipeline tenon_pipeline_t;
/* What the nodes of a pipeline did so far, in the order of the pipeline. */
typedef struct tenon_node_stats_list tenon_node_stats_list_t;
/* Why streams ended early or were restarted, in the order in which it happened. */
typedef struct tenon_failures tenon_failures_t;

/* Status codes; their numbers never change. */
typedef int32_t tenon_status_t;
enum {
  TENON_OK = 0,
  TENON_CANCELLED = 1, /* The caller asked to stop. */
  TENON_UNKNOWN = 2, /* A failure in foreign code that gives no code. */
  TENON_INVALID_ARGUMENT = 3, /* An argument is wrong in any state: NULL, a shape or type that does not fit. */
  TENON_DEADLINE_EXCEEDED = 4, /* Not done within the time limit. */
  TENON_NOT_FOUND = 5, /* No file, device, port or property of that name; the message lists those that exist. */
  TENON_ALREADY_EXISTS = 6,
  TENON_PERMISSION_DENIED = 7,
  TENON_RESOURCE_EXHAUSTED = 8, /* Memory, descriptors or disk. */
  TENON_FAILED_PRECONDITION = 9, /* Valid argument in the wrong state: a busy request, memory that the CPU cannot address. */
  TENON_ABORTED = 10,
  TENON_OUT_OF_RANGE = 11, /* An index or region past the end. */
  TENON_UNIMPLEMENTED = 12, /* The device or build does not support this. */
  TENON_INTERNAL = 13,
  TENON_UNAVAILABLE = 14, /* A device or library is not available; the message says what is missing. */
  TENON_DATA_LOSS = 15 /* A damaged file. */
};

/* Called once, from any thread, when the memory is no longer used. */
typedef void (*tenon_release_t)(void* user);

/* The status in words, e.g. "not found"; "unknown" for other numbers. Never NULL; valid for ever. */
TENON_C_API const char* tenon_status_name(tenon_status_t status);

/*
 * Why this thread's last failed call failed; "" if none failed. Never NULL; valid until this thread's next
 * failure.
 */
TENON_C_API const char* tenon_last_error_message(void);

/* For callbacks of yours that fail: the text that goes with the status that they return. It is copied. */
TENON_C_API void tenon_set_last_error_message(const char* message);

/* The release version, e.g. "1.2.3". Never NULL; valid for ever. */
TENON_C_API const char* tenon_version(void);

/* Frees a text from an out-parameter. */
TENON_C_API void tenon_string_free(char* text);

/* Number of texts. */
TENON_C_API size_t tenon_strings_count(const tenon_strings_t* strings);

/* A text by position, valid as long as the list; NULL past the end. */
TENON_C_API const char* tenon_strings_get(const tenon_strings_t* strings, size_t index);

/* Frees the handle. */
TENON_C_API void tenon_strings_free(tenon_strings_t* strings);

#ifdef __cplusplus
}
#endif

#endif
